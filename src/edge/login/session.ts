import type { ProviderTokenName } from '../modules/login.ts'
import type { Identity } from './sign-in.ts'

/** Session settings shared by all sign-in modules. */
export interface SessionSettings {
  readonly options_passthrough: boolean
  readonly cookie_prefix: string
  readonly inactivity_timeout: number
  readonly maximum_duration: number
}

/** A session as stored in its cookie. */
export interface Session {
  readonly id: string
  readonly scopeId: string
  readonly version: string
  readonly identity: Identity
  /** The subject of the person in revocations of the account; sessions of earlier releases have none. */
  readonly user?: string
  /** How the session before this one ended, if the browser still had it. */
  readonly follows?: SessionEnd
  /** The tokens that were to be stored with it, if any; absent ones were too large. */
  readonly tokens?: readonly ProviderTokenName[]
  /** Wall-clock seconds. */
  readonly since: number
  readonly seen: number
}

/** Sessions that the hosts of a domain share. */
export interface SharedSessions {
  /** The domain of their cookies. */
  readonly domain: string
  /** The same for all endpoints of an account with this domain and the same sign-in. */
  readonly scopeId: string
  /** Whether the account still owns the domain. */
  isOwned(): boolean
}

/** Why a session is over: unused for too long, at its maximum duration, or because the provider is to be asked again. */
export type SessionEnd = 'idle' | 'maximum' | 'recheck'

// Sessions without configured limits expire too.
const MAX_SESSION_SECONDS = 30 * 24 * 60 * 60

/** How long sessions live, in seconds. */
export interface SessionLifetime {
  readonly maxSeconds: number
  /** Whether the owner configured it; only then does the cookie expire in the browser. */
  readonly isConfigured: boolean
  /** Undefined while the session has not expired. */
  findEnd(session: Pick<Session, 'since' | 'seen'>, nowSeconds: number): SessionEnd | undefined
  /** When the session ends if it was last used then. */
  expiresAt(since: number, seen: number): number
}

/** `recheckSeconds` is how often the visitor must sign in again; 0 for never. */
export function createLifetime(
  { inactivity_timeout: idleTimeout, maximum_duration: maxDuration }: SessionSettings,
  recheckSeconds: number,
): SessionLifetime {
  const limits = [maxDuration, recheckSeconds].filter((seconds) => seconds > 0)
  const maxSeconds = limits.length === 0 ? MAX_SESSION_SECONDS : Math.min(...limits)
  return {
    maxSeconds,
    isConfigured: limits.length > 0,
    findEnd({ since, seen }, nowSeconds) {
      const age = nowSeconds - since
      if (idleTimeout > 0 && nowSeconds - seen >= idleTimeout) return 'idle'
      if (age < maxSeconds) return undefined
      return recheckSeconds > 0 && (maxDuration === 0 || age < maxDuration) ? 'recheck' : 'maximum'
    },
    expiresAt: (since, seen) =>
      Math.min(since + maxSeconds, idleTimeout > 0 ? seen + idleTimeout : Number.POSITIVE_INFINITY),
  }
}

import type { ProviderTokenName } from '../../services/logins.ts'
import type { Identity } from '../sign-in.ts'

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
  /** How the session before this one ended, if the browser still had it; `recheck` also after a check. */
  readonly follows?: SessionEnd
  /** The tokens that were to be stored with it, if any; absent ones were too large. */
  readonly tokens?: readonly ProviderTokenName[]
  /** When the provider last confirmed the identity; absent where only another sign-in can do that. Wall-clock seconds. */
  readonly checked?: number
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
export const MAX_SESSION_SECONDS = 30 * 24 * 60 * 60

/** How long sessions live, in seconds. */
export interface SessionLifetime {
  readonly maxSeconds: number
  /** Undefined while the session has not expired. */
  findEnd(session: Session, nowSeconds: number): SessionEnd | undefined
  /** Whether the provider has to confirm the identity before the session goes on. */
  isCheckDue(session: Session, nowSeconds: number): boolean
  /** When the session ends at the latest. */
  endsAt(session: Session): number
  /** When the session ends if it was last used then. */
  expiresAt(session: Session, seen: number): number
  /** When its cookie is no longer needed; undefined where the owner configured no duration. */
  cookieEndsAt(session: Session): number | undefined
}

/** `recheckSeconds` is how often the provider must confirm the identity; 0 for never. */
export function createLifetime(
  { inactivity_timeout: idleTimeout, maximum_duration: maxDuration }: SessionSettings,
  recheckSeconds: number,
): SessionLifetime {
  const maxSeconds = maxDuration > 0 ? maxDuration : MAX_SESSION_SECONDS
  const endsByRecheck = ({ checked }: Session) => recheckSeconds > 0 && checked === undefined
  const endsAt = (session: Session) =>
    session.since + (endsByRecheck(session) ? Math.min(maxSeconds, recheckSeconds) : maxSeconds)
  return {
    maxSeconds,
    findEnd(session, nowSeconds) {
      if (idleTimeout > 0 && nowSeconds - session.seen >= idleTimeout) return 'idle'
      if (nowSeconds < endsAt(session)) return undefined
      const isWithinMaximum = maxDuration === 0 || nowSeconds - session.since < maxDuration
      return endsByRecheck(session) && isWithinMaximum ? 'recheck' : 'maximum'
    },
    isCheckDue: ({ checked }, nowSeconds) =>
      recheckSeconds > 0 && checked !== undefined && nowSeconds >= checked + recheckSeconds,
    endsAt,
    expiresAt: (session, seen) =>
      Math.min(endsAt(session), idleTimeout > 0 ? seen + idleTimeout : Number.POSITIVE_INFINITY),
    cookieEndsAt(session) {
      if (maxDuration === 0 && recheckSeconds === 0) return undefined
      const { checked } = session
      return maxDuration === 0 && checked !== undefined ? checked + recheckSeconds : endsAt(session)
    },
  }
}

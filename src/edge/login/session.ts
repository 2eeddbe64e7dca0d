import type { Identity } from './sign-in.ts'

/** Settings shared by everything that makes visitors sign in. */
export interface SessionSettings {
  readonly options_passthrough: boolean
  readonly cookie_prefix: string
  readonly inactivity_timeout: number
  readonly maximum_duration: number
}

/** A session as its cookie holds it. */
export interface Session {
  readonly id: string
  readonly place: string
  readonly version: string
  readonly identity: Identity
  /** Wall-clock seconds. */
  readonly since: number
  readonly seen: number
}

// A session without limits of its own still ends some day.
const MAX_SESSION_SECONDS = 30 * 24 * 60 * 60

/** How long sessions of a place live, in seconds. */
export interface SessionLifetime {
  readonly maxSeconds: number
  /** True when the owner set it, and the browser may forget the cookie then. */
  readonly isConfigured: boolean
  hasExpired(session: Pick<Session, 'since' | 'seen'>, nowSeconds: number): boolean
}

/** `checkEvery` is how often a person has to be known to the provider anew; 0 for never. */
export function createLifetime(
  { inactivity_timeout: idleTimeout, maximum_duration: maxDuration }: SessionSettings,
  recheckSeconds: number,
): SessionLifetime {
  const limits = [maxDuration, recheckSeconds].filter((seconds) => seconds > 0)
  const maxSeconds = limits.length === 0 ? MAX_SESSION_SECONDS : Math.min(...limits)
  return {
    maxSeconds,
    isConfigured: limits.length > 0,
    hasExpired: ({ since, seen }, nowSeconds) =>
      nowSeconds - since >= maxSeconds || (idleTimeout > 0 && nowSeconds - seen >= idleTimeout),
  }
}

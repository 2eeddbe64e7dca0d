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
const LONGEST_SECONDS = 30 * 24 * 60 * 60

/** How long sessions of a place live, in seconds. */
export interface Lifetime {
  readonly longest: number
  /** True when the owner set it, and the browser may forget the cookie then. */
  readonly isSet: boolean
  isOver(session: Pick<Session, 'since' | 'seen'>, at: number): boolean
}

/** `checkEvery` is how often a person has to be known to the provider anew; 0 for never. */
export function lifetimeOf(
  { inactivity_timeout: idle, maximum_duration: longest }: SessionSettings,
  checkEvery: number,
): Lifetime {
  const limits = [longest, checkEvery].filter((seconds) => seconds > 0)
  const most = limits.length === 0 ? LONGEST_SECONDS : Math.min(...limits)
  return {
    longest: most,
    isSet: limits.length > 0,
    isOver: ({ since, seen }, at) => at - since >= most || (idle > 0 && at - seen >= idle),
  }
}

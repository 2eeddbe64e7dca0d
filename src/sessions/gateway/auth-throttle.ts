import { clientKey } from '../../base/values/client-key.ts'
import type { Clock } from '../../base/values/clock.ts'

export interface AuthThrottleSettings {
  /** Penalty for each failed login. */
  perFailureMs: number
  /** At this total, connections are rejected until all of it has passed. */
  blockThresholdMs: number
  maxMs: number
}

/** For SSH, where logins are interactive or hostile (P50). */
export const SSH_AUTH_THROTTLE: AuthThrottleSettings = {
  perFailureMs: 5000,
  blockThresholdMs: 15_000,
  maxMs: 600_000,
}

/** For agents, many of which may share an address: blocks at more than a failure a second for 30 s (decision 76). */
export const AGENT_AUTH_THROTTLE: AuthThrottleSettings = {
  perFailureMs: 1000,
  blockThresholdMs: 30_000,
  maxMs: 60_000,
}

const MAX_CLIENTS = 65_536

/** Blocks clients that keep failing to log in, for longer each time. */
export class AuthThrottle {
  readonly #clock: Clock
  readonly #settings: AuthThrottleSettings
  readonly #clients = new Map<string, { until: number; blocked: boolean }>()

  constructor(clock: Clock, settings: AuthThrottleSettings = SSH_AUTH_THROTTLE) {
    this.#clock = clock
    this.#settings = settings
  }

  /** Whether connections from this address are rejected now. */
  isBlocked(ip: string): boolean {
    const key = clientKey(ip)
    const entry = this.#clients.get(key)
    if (entry === undefined) return false
    if (entry.until > this.#clock.monotonic()) return entry.blocked
    this.#clients.delete(key)
    return false
  }

  /** A connection from this address ended without a login. */
  recordFailure(ip: string): void {
    const { perFailureMs, blockThresholdMs, maxMs } = this.#settings
    const now = this.#clock.monotonic()
    const key = clientKey(ip)
    const previous = this.#clients.get(key)
    const active = previous !== undefined && previous.until > now
    const until = Math.min((active ? previous.until : now) + perFailureMs, now + maxMs)
    if (previous === undefined && this.#clients.size >= MAX_CLIENTS) this.#evict(now)
    // In whole seconds, so that simultaneous failures add up however long each of them took.
    const seconds = Math.ceil((until - now) / 1000)
    this.#clients.set(key, {
      until,
      blocked: (active && previous.blocked) || seconds * 1000 >= blockThresholdMs,
    })
  }

  #evict(now: number): void {
    for (const [key, { until }] of this.#clients) if (until <= now) this.#clients.delete(key)
    const [oldest] = this.#clients.keys()
    if (this.#clients.size >= MAX_CLIENTS && oldest !== undefined) this.#clients.delete(oldest)
  }
}

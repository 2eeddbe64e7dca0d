import { sourceOf } from '../base/client-key.ts'
import type { Clock } from '../base/clock.ts'

export interface AuthThrottleSettings {
  /** Added for each connection that failed to log in. */
  perFailureMs: number
  /** From this much on, connections are refused until all of it has passed. */
  blockThresholdMs: number
  maxMs: number
}

/** For clients that log in by hand or not at all, as with SSH (P50). */
export const SSH_AUTH_THROTTLE: AuthThrottleSettings = {
  perFailureMs: 5000,
  blockThresholdMs: 15_000,
  maxMs: 600_000,
}

/** For agents, of which many may share an address: only who fails more often than once a second for half a minute. */
export const AGENT_AUTH_THROTTLE: AuthThrottleSettings = {
  perFailureMs: 1000,
  blockThresholdMs: 30_000,
  maxMs: 60_000,
}

const MAX_CLIENTS = 65_536

/** Sources that keep failing to log in have to stay away, for longer each time. */
export class AuthThrottle {
  readonly #clock: Clock
  readonly #settings: AuthThrottleSettings
  readonly #clients = new Map<string, { until: number; blocked: boolean }>()

  constructor(clock: Clock, settings: AuthThrottleSettings = SSH_AUTH_THROTTLE) {
    this.#clock = clock
    this.#settings = settings
  }

  /** True when connections from there are refused now. */
  isBlocked(ip: string): boolean {
    const key = sourceOf(ip)
    const entry = this.#clients.get(key)
    if (entry === undefined) return false
    if (entry.until > this.#clock.monotonic()) return entry.blocked
    this.#clients.delete(key)
    return false
  }

  /** A connection from there ended without having logged in. */
  recordFailure(ip: string): void {
    const { perFailureMs, blockThresholdMs, maxMs } = this.#settings
    const now = this.#clock.monotonic()
    const key = sourceOf(ip)
    const previous = this.#clients.get(key)
    const active = previous !== undefined && previous.until > now
    const until = Math.min((active ? previous.until : now) + perFailureMs, now + maxMs)
    if (previous === undefined && this.#clients.size >= MAX_CLIENTS) this.#evict(now)
    // In whole seconds, so that the failures of one moment add up whatever time each of them took.
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

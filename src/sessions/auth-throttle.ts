import { sourceOf } from '../base/client-key.ts'
import type { Clock } from '../base/clock.ts'

export interface PenaltySettings {
  /** Added for each connection that failed to log in. */
  perFailureMs: number
  /** From this much on, connections are refused until all of it has passed. */
  refuseFromMs: number
  mostMs: number
}

/** For clients that log in by hand or not at all, as with SSH (P50). */
export const PENALTIES: PenaltySettings = { perFailureMs: 5000, refuseFromMs: 15_000, mostMs: 600_000 }

/** For agents, of which many may share an address: only who fails more often than once a second for half a minute. */
export const AGENT_PENALTIES: PenaltySettings = { perFailureMs: 1000, refuseFromMs: 30_000, mostMs: 60_000 }

const MOST_SOURCES = 65_536

/** Sources that keep failing to log in have to stay away, for longer each time. */
export class Penalties {
  readonly #clock: Clock
  readonly #settings: PenaltySettings
  readonly #sources = new Map<string, { until: number; refused: boolean }>()

  constructor(clock: Clock, settings: PenaltySettings = PENALTIES) {
    this.#clock = clock
    this.#settings = settings
  }

  /** True when connections from there are refused now. */
  refuses(ip: string): boolean {
    const source = sourceOf(ip)
    const penalty = this.#sources.get(source)
    if (penalty === undefined) return false
    if (penalty.until > this.#clock.monotonic()) return penalty.refused
    this.#sources.delete(source)
    return false
  }

  /** A connection from there ended without having logged in. */
  failed(ip: string): void {
    const { perFailureMs, refuseFromMs, mostMs } = this.#settings
    const now = this.#clock.monotonic()
    const source = sourceOf(ip)
    const before = this.#sources.get(source)
    const running = before !== undefined && before.until > now
    const until = Math.min((running ? before.until : now) + perFailureMs, now + mostMs)
    if (before === undefined && this.#sources.size >= MOST_SOURCES) this.#makeRoom(now)
    // In whole seconds, so that the failures of one moment add up whatever time each of them took.
    const seconds = Math.ceil((until - now) / 1000)
    this.#sources.set(source, {
      until,
      refused: (running && before.refused) || seconds * 1000 >= refuseFromMs,
    })
  }

  #makeRoom(now: number): void {
    for (const [source, { until }] of this.#sources) if (until <= now) this.#sources.delete(source)
    const [oldest] = this.#sources.keys()
    if (this.#sources.size >= MOST_SOURCES && oldest !== undefined) this.#sources.delete(oldest)
  }
}

import type { Clock } from '../base/values/clock.ts'

/**
 * Whether a node that is missing from the list may be treated as gone. After an outage of the database, or a stall of this
 * process, rows of live nodes have expired: the list counts as complete only after every node had time to renew its row.
 */
export class FlapGuard {
  readonly #clock: Clock
  readonly #windowMs: number
  #lastHeartbeat = Number.NEGATIVE_INFINITY
  #stableSince = Number.POSITIVE_INFINITY

  constructor(clock: Clock, silenceMs: number) {
    this.#clock = clock
    this.#windowMs = silenceMs
  }

  /** True while every heartbeat of the last `windowMs` succeeded. */
  get isStable(): boolean {
    return !this.#isInterrupted() && this.#clock.monotonic() - this.#stableSince >= this.#windowMs
  }

  /** A heartbeat succeeded. */
  recordHeartbeat(): void {
    if (this.#isInterrupted()) this.#stableSince = this.#clock.monotonic()
    this.#lastHeartbeat = this.#clock.monotonic()
  }

  /** A gap of half the lifetime of a row: in a shorter one no row can have expired because of an outage. */
  #isInterrupted(): boolean {
    return this.#clock.monotonic() - this.#lastHeartbeat > this.#windowMs / 2
  }
}

import type { Clock } from '../base/clock.ts'

/**
 * Whether the list of nodes may be believed when it lacks one. After the database, or this process, was away for a
 * while, rows have expired whose nodes are alive: they get the time in which every node renews its own.
 */
export class StabilityWindow {
  readonly #clock: Clock
  readonly #windowMs: number
  #lastHeartbeat = Number.NEGATIVE_INFINITY
  #stableSince = Number.POSITIVE_INFINITY

  constructor(clock: Clock, silenceMs: number) {
    this.#clock = clock
    this.#windowMs = silenceMs
  }

  /** True while every beat of the last `silenceMs` went through. */
  get isStable(): boolean {
    return !this.#isInterrupted() && this.#clock.monotonic() - this.#stableSince >= this.#windowMs
  }

  /** A beat went through. */
  recordHeartbeat(): void {
    if (this.#isInterrupted()) this.#stableSince = this.#clock.monotonic()
    this.#lastHeartbeat = this.#clock.monotonic()
  }

  /** Half the time that a row lives: before that no row can have expired for want of the database. */
  #isInterrupted(): boolean {
    return this.#clock.monotonic() - this.#lastHeartbeat > this.#windowMs / 2
  }
}

import type { Clock } from '../base/clock.ts'

/**
 * Whether the list of nodes may be believed when it lacks one. After the database, or this process, was away for a
 * while, rows have expired whose nodes are alive: they get the time in which every node renews its own.
 */
export class Settling {
  readonly #clock: Clock
  readonly #silenceMs: number
  #lastBeat = Number.NEGATIVE_INFINITY
  #since = Number.POSITIVE_INFINITY

  constructor(clock: Clock, silenceMs: number) {
    this.#clock = clock
    this.#silenceMs = silenceMs
  }

  /** True while every beat of the last `silenceMs` went through. */
  get settled(): boolean {
    return !this.#interrupted() && this.#clock.monotonic() - this.#since >= this.#silenceMs
  }

  /** A beat went through. */
  beat(): void {
    if (this.#interrupted()) this.#since = this.#clock.monotonic()
    this.#lastBeat = this.#clock.monotonic()
  }

  /** Half the time that a row lives: before that no row can have expired for want of the database. */
  #interrupted(): boolean {
    return this.#clock.monotonic() - this.#lastBeat > this.#silenceMs / 2
  }
}

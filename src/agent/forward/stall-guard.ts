import { type Deadlines, Timed } from '../../base/io/timer-wheel.ts'

/** Five minutes, as long as the server gives its visitors (P16), looked at every half minute. */
const LOOK_MS = 30_000
const LOOKS = 10

/** What a guard asks of the stream it watches. */
export interface Guarded {
  /** True while data waits for somebody to take it. */
  waiting(): boolean
  /** Counts up with every byte that gets on. */
  moved(): number
  cut(error: Error): void
}

/**
 * Cuts a stream on which nothing moves for five minutes although data waits: its memory is spent on somebody who reads
 * no more. A slow reader may be slow, and a stream with nothing to say may be silent for as long as it likes.
 */
export class StallGuard extends Timed {
  readonly #deadlines: Deadlines
  readonly #guarded: Guarded
  #seen = 0
  /** How often it was looked at since anything moved. */
  #looks = 0

  constructor(deadlines: Deadlines, guarded: Guarded) {
    super()
    this.#deadlines = deadlines
    this.#guarded = guarded
  }

  /** Data waits from now on; called again while it does, this changes nothing. */
  watch(): void {
    if (this.dueAt !== 0) return
    this.#deadlines.start()
    this.#look()
  }

  stop(): void {
    this.#deadlines.clear(this)
  }

  onDeadline(): void {
    if (!this.#guarded.waiting()) return
    if (this.#guarded.moved() !== this.#seen) this.#look()
    else if (++this.#looks < LOOKS) this.#deadlines.set(this, this.#deadlines.ticks(LOOK_MS))
    else this.#guarded.cut(new Error('Nothing moved for 5 minutes although data waits.'))
  }

  #look(): void {
    this.#seen = this.#guarded.moved()
    this.#looks = 0
    this.#deadlines.set(this, this.#deadlines.ticks(LOOK_MS))
  }
}

import { type Deadlines, Timed } from '../../base/deadlines.ts'

/** As long as the server gives its visitors (P16). */
const NO_PROGRESS_MS = 300_000

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

  constructor(deadlines: Deadlines, guarded: Guarded) {
    super()
    this.#deadlines = deadlines
    this.#guarded = guarded
  }

  /** Data waits from now on; called again while it does, this changes nothing. */
  watch(): void {
    if (this.dueAt !== 0) return
    this.#seen = this.#guarded.moved()
    this.#deadlines.start()
    this.#deadlines.set(this, this.#deadlines.ticks(NO_PROGRESS_MS))
  }

  stop(): void {
    this.#deadlines.clear(this)
  }

  onDeadline(): void {
    if (!this.#guarded.waiting()) return
    if (this.#guarded.moved() !== this.#seen) this.watch()
    else this.#guarded.cut(new Error('Nothing moved for 5 minutes although data waits.'))
  }
}

import { type Deadlines, Timed } from '../../base/io/timer-wheel.ts'

/** Five minutes, as long as the server gives its visitors (P16), looked at every half minute. */
const CHECK_INTERVAL_MS = 30_000
const MAX_IDLE_CHECKS = 10

/** What a guard asks of the stream it watches. */
export interface GuardedStream {
  /** True while data waits for somebody to take it. */
  hasPendingData(): boolean
  /** Counts up with every byte that gets on. */
  progress(): number
  abort(error: Error): void
}

/**
 * Cuts a stream on which nothing moves for five minutes although data waits: its memory is spent on somebody who reads
 * no more. A slow reader may be slow, and a stream with nothing to say may be silent for as long as it likes.
 */
export class StallGuard extends Timed {
  readonly #timers: Deadlines
  readonly #stream: GuardedStream
  #lastProgress = 0
  /** How often it was looked at since anything moved. */
  #idleChecks = 0

  constructor(timers: Deadlines, stream: GuardedStream) {
    super()
    this.#timers = timers
    this.#stream = stream
  }

  /** Data waits from now on; called again while it does, this changes nothing. */
  watch(): void {
    if (this.dueAt !== 0) return
    this.#timers.start()
    this.#schedule()
  }

  stop(): void {
    this.#timers.clear(this)
  }

  onDeadline(): void {
    if (!this.#stream.hasPendingData()) return
    if (this.#stream.progress() !== this.#lastProgress) this.#schedule()
    else if (++this.#idleChecks < MAX_IDLE_CHECKS)
      this.#timers.set(this, this.#timers.ticks(CHECK_INTERVAL_MS))
    else this.#stream.abort(new Error('Nothing moved for 5 minutes although data waits.'))
  }

  #schedule(): void {
    this.#lastProgress = this.#stream.progress()
    this.#idleChecks = 0
    this.#timers.set(this, this.#timers.ticks(CHECK_INTERVAL_MS))
  }
}

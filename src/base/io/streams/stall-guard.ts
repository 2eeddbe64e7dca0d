import { TimerEntry, type TimerWheel } from '../memory/timer-wheel.ts'

/** Ten checks make five minutes, the same limit the server applies to its clients (P16). */
const CHECK_INTERVAL_MS = 30_000
const MAX_IDLE_CHECKS = 10

/** What a guard needs from the stream it watches. */
export interface GuardedStream {
  /** True while data is waiting for a reader. */
  readonly waiting: boolean
  /** A counter that grows with every byte delivered. */
  readonly progress: number
  abort(error: Error): void
}

/**
 * Aborts a stream that makes no progress for five minutes while data is pending: the reader is dead and pins memory.
 * Slow readers and idle streams are never aborted.
 */
export class StallGuard extends TimerEntry {
  readonly #timers: TimerWheel
  readonly #stream: GuardedStream
  #lastProgress = 0
  /** Checks since the last progress. */
  #idleChecks = 0

  constructor(timers: TimerWheel, stream: GuardedStream) {
    super()
    this.#timers = timers
    this.#stream = stream
  }

  /** Starts watching when data becomes pending; has no effect while already watching. */
  watch(): void {
    if (this.dueTick !== 0) return
    this.#timers.start()
    this.#schedule()
  }

  stop(): void {
    this.#timers.clear(this)
  }

  onDeadline(): void {
    if (!this.#stream.waiting) return
    if (this.#stream.progress !== this.#lastProgress) this.#schedule()
    else if (++this.#idleChecks < MAX_IDLE_CHECKS)
      this.#timers.set(this, this.#timers.ticks(CHECK_INTERVAL_MS))
    else this.#stream.abort(new Error('The stream stalled: no progress for 5 minutes.'))
  }

  #schedule(): void {
    this.#lastProgress = this.#stream.progress
    this.#idleChecks = 0
    this.#timers.set(this, this.#timers.ticks(CHECK_INTERVAL_MS))
  }
}

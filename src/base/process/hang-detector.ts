/** What does not respond for so many rounds hangs, so for 10 s unless a round is shorter. */
const MAX_SILENT_ROUNDS = 10

export interface HangDetectorOptions {
  /** Asks for a sign of life; the reply is passed to `onReply`. */
  ask(): void
  /** Called once, when the last `maxSilentRounds` rounds brought no reply. */
  onHang(): void
  readonly maxSilentRounds?: number
  readonly roundMs?: number
}

/**
 * Notices that another process or thread hangs: it does not reply to a question that its event loop would answer. Silence is
 * counted in rounds of a timer and not by a clock: while this process is itself stopped, busy or asleep there are no rounds,
 * and such a pause says nothing about the others.
 */
export class HangDetector {
  readonly #options: HangDetectorOptions
  readonly #timer: NodeJS.Timeout
  #silentRounds = 0

  constructor(options: HangDetectorOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#round(), options.roundMs ?? 1_000)
    this.#timer.unref()
  }

  /** Rounds since the last reply; a question is under way in the first one. */
  get silentRounds(): number {
    return this.#silentRounds
  }

  onReply(): void {
    this.#silentRounds = 0
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #round(): void {
    if (this.#silentRounds >= (this.#options.maxSilentRounds ?? MAX_SILENT_ROUNDS)) {
      this.stop()
      this.#options.onHang()
      return
    }
    // One question at a time: those to a stopped process would pile up.
    if (this.#silentRounds === 0) this.#options.ask()
    this.#silentRounds += 1
  }
}

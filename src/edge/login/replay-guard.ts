import type { Clock } from '../../base/clock.ts'

const MOST = 100_000

/** Remembers for a while what was used up, so that nothing is taken twice. Bounded: the oldest are forgotten first. */
export class Once {
  readonly #clock: Clock
  readonly #most: number
  readonly #until = new Map<string, number>()

  constructor(clock: Clock, most = MOST) {
    this.#clock = clock
    this.#most = most
  }

  /** True the first time; `forMs` says how long a second time would still be dangerous. */
  take(id: string, forMs: number): boolean {
    if (this.has(id)) return false
    if (this.#until.size >= this.#most) this.#sweep()
    // Deleting first puts what had expired at the young end.
    this.#until.delete(id)
    this.#until.set(id, this.#clock.monotonic() + forMs)
    return true
  }

  has(id: string): boolean {
    const until = this.#until.get(id)
    return until !== undefined && until > this.#clock.monotonic()
  }

  get size(): number {
    return this.#until.size
  }

  /** Makes room for a tenth at a time, so that a flood does not cost a whole sweep for every single entry. */
  #sweep(): void {
    const now = this.#clock.monotonic()
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id)
    for (const id of this.#until.keys()) {
      if (this.#until.size <= this.#most * 0.9) return
      this.#until.delete(id)
    }
  }
}

import type { Clock } from '../../base/clock.ts'

const MOST = 100_000

/** Remembers for a while what was used up, so that nothing is taken twice. Bounded: the oldest are forgotten first. */
export class Once {
  readonly #clock: Clock
  readonly #until = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True the first time; `forMs` says how long a second time would still be dangerous. */
  take(id: string, forMs: number): boolean {
    const now = this.#clock.monotonic()
    if (this.has(id)) return false
    if (this.#until.size >= MOST) this.#sweep(now)
    this.#until.set(id, now + forMs)
    return true
  }

  has(id: string): boolean {
    const until = this.#until.get(id)
    return until !== undefined && until > this.#clock.monotonic()
  }

  #sweep(now: number): void {
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id)
    for (const id of this.#until.keys()) {
      if (this.#until.size < MOST) return
      this.#until.delete(id)
    }
  }
}

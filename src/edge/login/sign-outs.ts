import type { Clock } from '../../base/clock.ts'

const MOST = 100_000

/** When a provider last signed people out. What began before is over, what begins after is not. */
export class SignOuts {
  readonly #clock: Clock
  readonly #at = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  note(place: string, person: string): void {
    const key = `${place} ${person}`
    this.#at.delete(key)
    this.#at.set(key, this.#clock.now())
    if (this.#at.size <= MOST) return
    const [oldest] = this.#at.keys()
    this.#at.delete(oldest!)
  }

  /** Whether a session begun at this second, in wall-clock seconds, was ended since. */
  endedSince(place: string, person: string, since: number): boolean {
    const at = this.#at.get(`${place} ${person}`)
    return at !== undefined && since * 1000 <= at
  }
}

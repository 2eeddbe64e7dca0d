import type { Clock } from '../../../base/values/clock.ts'

const MAX_ENTRIES = 100_000

/** Ids that were used recently, so that none is accepted twice. Bounded: evicts the oldest first. */
export class ReplayGuard {
  readonly #clock: Clock
  readonly #maxEntries: number
  readonly #expiries = new Map<string, number>()

  constructor(clock: Clock, maxEntries = MAX_ENTRIES) {
    this.#clock = clock
    this.#maxEntries = maxEntries
  }

  /** True the first time; `ttlMs` is how long a replay would be harmful. */
  consume(id: string, ttlMs: number): boolean {
    if (this.has(id)) return false
    if (this.#expiries.size >= this.#maxEntries) this.#sweep()
    // Deleting first moves an expired id to the young end.
    this.#expiries.delete(id)
    this.#expiries.set(id, this.#clock.monotonic() + ttlMs)
    return true
  }

  has(id: string): boolean {
    const expiresAt = this.#expiries.get(id)
    return expiresAt !== undefined && expiresAt > this.#clock.monotonic()
  }

  get size(): number {
    return this.#expiries.size
  }

  /** Evicts a tenth at a time, so that a flood does not cost a full sweep per entry. */
  #sweep(): void {
    const now = this.#clock.monotonic()
    for (const [id, expiresAt] of this.#expiries) if (expiresAt <= now) this.#expiries.delete(id)
    for (const id of this.#expiries.keys()) {
      if (this.#expiries.size <= this.#maxEntries * 0.9) return
      this.#expiries.delete(id)
    }
  }
}

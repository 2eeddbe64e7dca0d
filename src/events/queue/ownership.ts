import type { Clock } from '../../base/values/clock.ts'
import type { Lease, Store } from '../../store/index.ts'

/** Holds a lease while this process lives, so that one process at a time does the work behind it. */
export class Ownership {
  readonly #store: Store
  readonly #clock: Clock
  readonly #name: string
  readonly #holder: string
  readonly #ttlMs: number
  #lease: Lease | undefined
  #checkedAt = Number.NEGATIVE_INFINITY
  #expiresAt = 0

  constructor(options: { store: Store; clock: Clock; name: string; holder: string; ttlMs: number }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#name = options.name
    this.#holder = options.holder
    this.#ttlMs = options.ttlMs
  }

  /** The lease while it is held. Renews or acquires it every third of its TTL, without a query in between. */
  async hold(): Promise<Lease | undefined> {
    const now = this.#clock.monotonic()
    if (now - this.#checkedAt < this.#ttlMs / 3) return this.#lease
    this.#checkedAt = now
    try {
      if (this.#lease === undefined)
        this.#lease = await this.#store.lease(this.#name, this.#holder, this.#ttlMs)
      else if (!(await this.#lease.renew())) this.#lease = undefined
      this.#expiresAt = now + this.#ttlMs
    } catch (error) {
      // The database may be back before the lease expires.
      if (this.#clock.monotonic() > this.#expiresAt) this.#lease = undefined
      if (this.#lease === undefined) throw error
    }
    return this.#lease
  }

  async release(): Promise<void> {
    const lease = this.#lease
    this.#lease = undefined
    await lease?.release()
  }
}

/** Waiting times between attempts: drawn at random up to a bound that doubles, so that a crowd spreads itself out. */
export class Backoff {
  readonly #firstMs: number
  readonly #mostMs: number
  readonly #random: () => number
  #attempt = 0

  constructor(options: { firstMs: number; mostMs: number; random?: () => number }) {
    this.#firstMs = options.firstMs
    this.#mostMs = options.mostMs
    this.#random = options.random ?? Math.random
  }

  next(): number {
    const bound = Math.min(this.#mostMs, this.#firstMs * 2 ** this.#attempt)
    if (bound < this.#mostMs) this.#attempt++
    return this.#random() * bound
  }

  /** To be called when a connection has lasted, not when it has merely begun. */
  reset(): void {
    this.#attempt = 0
  }
}

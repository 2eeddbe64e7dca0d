/** Samples remembered: enough to include a quiet moment, few enough to follow a link that changes. */
const SAMPLES = 8

/** Below this a sample says more about how busy the two processes are than about the link. */
const MIN_MS = 2

/** The round-trip time of a link: the lowest recent sample, because queued data only ever adds to one. */
export class RoundTrip {
  #samples: number[] = []
  #ms: number | undefined

  /** Milliseconds; undefined before the first sample. */
  get ms(): number | undefined {
    return this.#ms
  }

  add(milliseconds: number): void {
    if (this.#samples.length === SAMPLES) this.#samples.shift()
    this.#samples.push(Math.max(MIN_MS, milliseconds))
    this.#ms = Math.min(...this.#samples)
  }
}

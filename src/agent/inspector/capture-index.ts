/** Empty slots are removed once they are this many and the majority. */
const MIN_EMPTY_SLOTS = 1024

/** What the index needs to know of a capture. */
interface Indexed {
  readonly id: string
  /** Where the index has it. */
  slot: number
}

/**
 * The stored captures, oldest first. Adding and deleting happen for every request, look-ups when a person asks: a map by
 * id costs ten times as much (decision 151).
 */
export class CaptureIndex<C extends Indexed> {
  #slots: (C | undefined)[] = []
  #emptySlots = 0

  get size(): number {
    return this.#slots.length - this.#emptySlots
  }

  add(capture: C): void {
    capture.slot = this.#slots.length
    this.#slots.push(capture)
  }

  delete(capture: C): void {
    this.#slots[capture.slot] = undefined
    this.#emptySlots++
    if (this.#emptySlots < MIN_EMPTY_SLOTS || this.#emptySlots <= this.#slots.length / 2) return
    const captures = this.oldestFirst()
    this.clear()
    for (const moved of captures) this.add(moved)
  }

  clear(): void {
    this.#slots = []
    this.#emptySlots = 0
  }

  get(id: string): C | undefined {
    return this.#slots.findLast((capture) => capture?.id === id)
  }

  oldestFirst(): C[] {
    return this.#slots.filter((capture) => capture !== undefined)
  }
}

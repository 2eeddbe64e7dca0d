/** Empty slots are removed once they are this many and the majority. */
const MIN_EMPTY_SLOTS = 1024

/** What the index needs to know of a capture. */
interface Indexed {
  readonly id: string
  /** Where the index has it. */
  slot: number
}

/**
 * The stored captures in the order of their ids, oldest first. Adding and deleting happen for every request, look-ups when a
 * person asks: a map by id costs ten times as much (decision 151), and a capture makes its id when it is asked for it.
 */
export class CaptureIndex<C extends Indexed> {
  #slots: (C | undefined)[] = []
  #emptySlots = 0

  get size(): number {
    return this.#slots.length - this.#emptySlots
  }

  /** Its id follows all others. */
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
    const captures = this.oldestFirst()
    const capture = captures[countBefore(captures, id)]
    return capture?.id === id ? capture : undefined
  }

  /** Those with an id before this one, oldest first. */
  before(id: string): C[] {
    const captures = this.oldestFirst()
    return captures.slice(0, countBefore(captures, id))
  }

  oldestFirst(): C[] {
    return this.#slots.filter((capture) => capture !== undefined)
  }
}

function countBefore(captures: readonly Indexed[], id: string): number {
  let [low, high] = [0, captures.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (captures[middle]!.id < id) low = middle + 1
    else high = middle
  }
  return low
}

/** A queue in which owners take turns, each with its oldest item, however many of them one has. */
export class OwnerQueue<T> {
  /** The owner whose turn is next comes first; none is empty. */
  readonly #items = new Map<string, T[]>()

  push(owner: string, item: T): void {
    const items = this.#items.get(owner)
    if (items === undefined) this.#items.set(owner, [item])
    else items.push(item)
  }

  /** Takes the next item of an owner that may have a turn. */
  take(mayHaveTurn: (owner: string) => boolean = () => true): T | undefined {
    for (const [owner, items] of this.#items) {
      if (!mayHaveTurn(owner)) continue
      const item = items.shift()
      this.#items.delete(owner)
      if (items.length > 0) this.#items.set(owner, items)
      return item
    }
    return undefined
  }

  /** How many items each owner has. */
  *counts(): Iterable<readonly [owner: string, count: number]> {
    for (const [owner, items] of this.#items) yield [owner, items.length]
  }
}

/** State of modules that lives as long as the place they stand on, whatever is compiled anew around it. */
export class PlaceStates {
  readonly #places = new Map<string, Map<string, { readonly key: string; readonly value: object }>>()

  /** The same value as before while `key` stays the same, a new one otherwise. */
  keep<T extends object>(placeId: string, name: string, key: string, make: () => T): T {
    let states = this.#places.get(placeId)
    if (states === undefined) {
      states = new Map()
      this.#places.set(placeId, states)
    }
    const known = states.get(name)
    if (known?.key === key) return known.value as T
    const value = make()
    states.set(name, { key, value })
    return value
  }

  /** The place is gone. */
  abandon(placeId: string): void {
    this.#places.delete(placeId)
  }
}

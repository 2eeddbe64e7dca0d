/** State of modules that lives as long as the place they stand on, whatever is compiled anew around it. */
export class ScopedState {
  readonly #scopes = new Map<string, Map<string, { readonly key: string; readonly value: object }>>()

  /** The same value as before while `key` stays the same, a new one otherwise. */
  getOrCreate<T extends object>(scopeId: string, name: string, key: string, create: () => T): T {
    let states = this.#scopes.get(scopeId)
    if (states === undefined) {
      states = new Map()
      this.#scopes.set(scopeId, states)
    }
    const existing = states.get(name)
    if (existing?.key === key) return existing.value as T
    const value = create()
    states.set(name, { key, value })
    return value
  }

  /** The place is gone. */
  delete(scopeId: string): void {
    this.#scopes.delete(scopeId)
  }
}

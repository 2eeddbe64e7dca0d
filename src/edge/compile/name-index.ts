/** What is known under host names: exact ones, and wildcards that cover every name below a domain. */
export class NameIndex<T> {
  readonly #exact = new Map<string, T>()
  /** By the domain below which they hold. */
  readonly #wild = new Map<string, T>()

  set(name: string, value: T): void {
    if (name.startsWith('*.')) this.#wild.set(name.slice(2), value)
    else this.#exact.set(name, value)
  }

  /** Forgets a name, unless somebody else holds it by now. */
  remove(name: string, value: T): void {
    const [index, key] = name.startsWith('*.') ? [this.#wild, name.slice(2)] : [this.#exact, name]
    if (index.get(key) === value) index.delete(key)
  }

  /** Whoever holds this very name. */
  exact(name: string): T | undefined {
    return this.#exact.get(name)
  }

  /** Whoever holds the most specific wildcard that covers this name, and the domain it stands below. */
  covering(name: string): { readonly value: T; readonly domain: string } | undefined {
    if (this.#wild.size === 0) return undefined
    for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
      const domain = name.slice(dot + 1)
      const value = this.#wild.get(domain)
      if (value !== undefined) return { value, domain }
    }
    return undefined
  }
}

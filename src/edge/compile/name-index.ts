/** What is known under host names: exact ones, and wildcards that cover every name below a domain. */
export class NameIndex<T> {
  readonly #exactNames = new Map<string, T>()
  /** By the domain below which they hold. */
  readonly #wildcards = new Map<string, T>()

  set(name: string, value: T): void {
    if (name.startsWith('*.')) this.#wildcards.set(name.slice(2), value)
    else this.#exactNames.set(name, value)
  }

  /** Forgets a name, unless somebody else holds it by now. */
  remove(name: string, value: T): void {
    const [index, key] = name.startsWith('*.') ? [this.#wildcards, name.slice(2)] : [this.#exactNames, name]
    if (index.get(key) === value) index.delete(key)
  }

  /** Whoever holds this very name. */
  getExact(name: string): T | undefined {
    return this.#exactNames.get(name)
  }

  /** Whoever holds the most specific wildcard that covers this name, and the domain it stands below. */
  matchWildcard(name: string): { readonly value: T; readonly domain: string } | undefined {
    if (this.#wildcards.size === 0) return undefined
    for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
      const domain = name.slice(dot + 1)
      const value = this.#wildcards.get(domain)
      if (value !== undefined) return { value, domain }
    }
    return undefined
  }
}

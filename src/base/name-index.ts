/** Values by host name: exact names, and wildcards that cover every name below a domain. */
export class NameIndex<T> {
  readonly #exactNames = new Map<string, T>()
  /** Keyed by the domain below the `*.`. */
  readonly #wildcards = new Map<string, T>()

  set(name: string, value: T): void {
    if (name.startsWith('*.')) this.#wildcards.set(name.slice(2), value)
    else this.#exactNames.set(name, value)
  }

  /** Removes a name unless it has been set to another value since. */
  remove(name: string, value: T): void {
    const [index, key] = name.startsWith('*.') ? [this.#wildcards, name.slice(2)] : [this.#exactNames, name]
    if (index.get(key) === value) index.delete(key)
  }

  /** The value of this exact name. */
  getExact(name: string): T | undefined {
    return this.#exactNames.get(name)
  }

  /** The value of the most specific wildcard that covers this name, and its domain. */
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

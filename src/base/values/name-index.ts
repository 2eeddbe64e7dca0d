/**
 * The name itself, then the wildcards that cover it, most specific first. A wildcard covers names at any depth and itself.
 */
export function* coveringNames(name: string): Generator<string> {
  yield name
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const wildcard = `*${name.slice(dot)}`
    if (wildcard !== name) yield wildcard
  }
}

/** Values by host name: exact names, and wildcards that cover every name below a domain. */
export class NameIndex<T> {
  readonly #exactNames = new Map<string, T>()
  /** Keyed by the domain below the `*.`. */
  readonly #wildcards = new Map<string, T>()

  set(name: string, value: T): void {
    if (name.startsWith('*.')) this.#wildcards.set(name.slice(2), value)
    else this.#exactNames.set(name, value)
  }

  /** The value of this very name; of a wildcard when the name is one. */
  get(name: string): T | undefined {
    return name.startsWith('*.') ? this.#wildcards.get(name.slice(2)) : this.#exactNames.get(name)
  }

  delete(name: string): void {
    if (name.startsWith('*.')) this.#wildcards.delete(name.slice(2))
    else this.#exactNames.delete(name)
  }

  clear(): void {
    this.#exactNames.clear()
    this.#wildcards.clear()
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

  /** The values of all names that cover this one, most specific first. */
  matchAll(name: string): T[] {
    const exact = this.#exactNames.get(name)
    const values: T[] = exact === undefined ? [] : [exact]
    let match = this.matchWildcard(name)
    while (match !== undefined) {
      values.push(match.value)
      match = this.matchWildcard(match.domain)
    }
    return values
  }
}

import type { CountExchange } from '../stats/shared-counts.ts'

/** Module state that lives as long as its route or edge and survives recompiles. */
export class ScopedState {
  readonly #scopes = new Map<string, Map<string, { readonly key: string; readonly value: object }>>()
  readonly #exchange: Pick<CountExchange, 'share'>

  constructor(exchange: Pick<CountExchange, 'share'>) {
    this.#exchange = exchange
  }

  /** Returns the existing value while `key` is unchanged, otherwise a new one. */
  getOrCreate<T extends object>(scopeId: string, name: string, key: string, create: () => T): T {
    let states = this.#scopes.get(scopeId)
    if (states === undefined) {
      states = new Map()
      this.#scopes.set(scopeId, states)
    }
    const existing = states.get(name)
    if (existing?.key === key) return existing.value as T
    const value = create()
    this.#exchange.share(value, `scope ${scopeId} ${name}`)
    states.set(name, { key, value })
    return value
  }

  /** Drops the state of a removed route or edge. */
  delete(scopeId: string): void {
    this.#scopes.delete(scopeId)
  }
}

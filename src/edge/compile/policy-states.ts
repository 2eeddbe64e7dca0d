import { deleteOldest } from '../../base/limits/delete-oldest.ts'
import type { CountExchange } from '../stats/shared-counts.ts'

/** States that one account may have; beyond, those compiled longest ago are forgotten. */
const MAX_STATES = 10_000

/**
 * What actions of policies remember, such as the counts of a rate limit. It survives a change of other parts of the policy
 * and an agent that reconnects, and is shared by all endpoints of one address.
 */
export class PolicyStates {
  readonly #accounts = new Map<string, Map<string, object>>()
  readonly #exchange: Pick<CountExchange, 'share'>

  constructor(exchange: Pick<CountExchange, 'share'>) {
    this.#exchange = exchange
  }

  /** Returns the existing state of this key, otherwise a new one; its name is the same at every process. */
  getOrCreate<T extends object>(accountId: string, key: string, create: (name: string) => T): T {
    let states = this.#accounts.get(accountId)
    if (states === undefined) {
      states = new Map()
      this.#accounts.set(accountId, states)
    }
    const existing = states.get(key) as T | undefined
    const name = `policy ${accountId} ${key}`
    const state = existing ?? create(name)
    if (existing === undefined) this.#exchange.share(state, name)
    // The first key is the one that was compiled longest ago.
    if (!states.delete(key) && states.size >= MAX_STATES) deleteOldest(states)
    states.set(key, state)
    return state
  }
}

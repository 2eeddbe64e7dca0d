import { type Admits, compileRules } from '../base/ip-rules.ts'
import type { Logger } from '../base/log.ts'
import type { ConnectionStep } from './module.ts'
import { Broken } from './modules/world.ts'
import { refusal } from './refusals.ts'
import type { Snapshot } from './snapshot.ts'

/** The rules of IP policies, compiled once for all who name the same policies, and what they mean for whole accounts. */
export class RuleSets {
  readonly #snapshot: Snapshot
  readonly #log: Logger
  readonly #sets = new Map<string, Admits>()
  readonly #restrictions = new Map<string, Admits>()

  constructor(snapshot: Snapshot, log: Logger) {
    this.#snapshot = snapshot
    this.#log = log
  }

  /** Whom these policies admit together. A missing one may have held a deny, so it denies everything (P36). */
  admits(policyIds: readonly string[]): Admits {
    const key = policyIds.join(' ')
    const known = this.#sets.get(key)
    if (known !== undefined) return known
    const missing = policyIds.find((id) => !this.#snapshot.policies.has(id))
    if (missing !== undefined) throw new Broken(`the IP policy ${missing} is missing`)
    const admits = compileRules(policyIds.flatMap((id) => this.#snapshot.rulesOf(id)))
    this.#sets.set(key, admits)
    return admits
  }

  /** Something changed under one of these ids: forgets what was made of it and holds accounts to what is new. */
  changed(ids: ReadonlySet<string>): void {
    for (const key of this.#sets.keys()) {
      if (key.split(' ').some((id) => ids.has(id))) this.#sets.delete(key)
    }
    const accounts = new Set<string>()
    for (const id of ids) if (this.#restrictions.has(id)) accounts.add(id)
    for (const { id, accountId, ip_policy_ids } of this.#snapshot.restrictions.values()) {
      if (ids.has(id) || ids.has(accountId) || usesAny(ip_policy_ids, ids)) accounts.add(accountId)
    }
    for (const accountId of accounts) this.#restrict(accountId)
  }

  /**
   * Holds visitors to the account's own restriction of its endpoints. It is looked up when asked, so that what was
   * compiled for the account need not be made anew when the restriction changes.
   */
  accountAdmission(accountId: string): ConnectionStep {
    const restrictions = this.#restrictions
    return ({ remoteAddress }) => {
      const admits = restrictions.size === 0 ? undefined : restrictions.get(accountId)
      if (admits !== undefined && !admits(remoteAddress))
        throw refusal('account_address_denied', remoteAddress)
    }
  }

  #restrict(accountId: string): void {
    const restriction = this.#snapshot
      .restrictionsOf(accountId)
      .find(({ type, enforced }) => type === 'endpoints' && enforced)
    if (restriction === undefined) {
      this.#restrictions.delete(accountId)
      return
    }
    try {
      this.#restrictions.set(accountId, this.admits(restriction.ip_policy_ids))
    } catch (error) {
      this.#log.warn({ err: error, id: restriction.id }, 'an IP restriction is broken and admits nobody')
      this.#restrictions.set(accountId, () => false)
    }
  }
}

/** Also true for what cannot be read: it has to be looked at again. */
function usesAny(policyIds: readonly string[], ids: ReadonlySet<string>): boolean {
  return !Array.isArray(policyIds) || policyIds.some((id) => ids.has(id))
}

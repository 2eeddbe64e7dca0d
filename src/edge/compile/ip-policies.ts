import { type Admits, compileRules } from '../../base/ip-rules.ts'
import type { Logger } from '../../base/log.ts'
import { refusal } from '../errors.ts'
import type { ConnectionStep } from '../module.ts'
import { ModuleConfigError } from '../modules/context.ts'
import { rulesKey, type Snapshot } from './snapshot.ts'

/** The rules of some policies, compiled; replaced in place when one of them changes. */
interface RuleSet {
  readonly policyIds: readonly string[]
  admits: Admits
}

const admitNone: Admits = () => false

/**
 * The rules of IP policies, compiled once for all who name the same policies, and what they mean for whole accounts.
 * Whoever was given a set need not be made anew when a rule changes: the set changes under it.
 */
export class CompiledIpPolicies {
  readonly #snapshot: Snapshot
  readonly #log: Logger
  readonly #ruleSets = new Map<string, RuleSet>()
  readonly #restrictions = new Map<string, Admits>()

  constructor(snapshot: Snapshot, log: Logger) {
    this.#snapshot = snapshot
    this.#log = log
  }

  /** Whom these policies admit together, now and later. A missing one may have held a deny, so it is an error (P36). */
  compile(policyIds: readonly string[]): Admits {
    const missing = policyIds.find((id) => !this.#snapshot.policies.has(id))
    if (missing !== undefined) throw new ModuleConfigError(`the IP policy ${missing} is missing`)
    const key = policyIds.join(' ')
    let cached = this.#ruleSets.get(key)
    if (cached === undefined) {
      cached = { policyIds: [...policyIds], admits: this.#compileRules(policyIds) }
      this.#ruleSets.set(key, cached)
    }
    const ruleSet = cached
    return (address) => ruleSet.admits(address)
  }

  /** Something changed under these ids: brings sets and restrictions in step with it. */
  refresh(ids: ReadonlySet<string>): void {
    for (const [key, ruleSet] of this.#ruleSets) {
      const affected = ruleSet.policyIds.filter((id) => ids.has(id) || ids.has(rulesKey(id)))
      if (affected.length === 0) continue
      if (affected.every((id) => this.#snapshot.policies.has(id)))
        ruleSet.admits = this.#compileRules(ruleSet.policyIds)
      else {
        ruleSet.admits = admitNone
        this.#ruleSets.delete(key)
      }
    }
    for (const accountId of this.#affectedAccounts(ids)) this.#updateRestriction(accountId)
  }

  /** Holds visitors to the account's own restriction of its endpoints, as it is when they come. */
  accountAdmission(accountId: string): ConnectionStep {
    const restrictions = this.#restrictions
    return ({ remoteAddress }) => {
      const admits = restrictions.size === 0 ? undefined : restrictions.get(accountId)
      if (admits !== undefined && !admits(remoteAddress))
        throw refusal('account_address_denied', remoteAddress)
    }
  }

  /** A policy whose rules cannot be read admits nobody, also not whom its other rules would. */
  #compileRules(policyIds: readonly string[]): Admits {
    try {
      return compileRules(policyIds.flatMap((id) => this.#snapshot.rulesOf(id)))
    } catch (error) {
      this.#log.warn(
        { err: error, ids: policyIds },
        'the rules of an IP policy cannot be read and admit nobody',
      )
      return admitNone
    }
  }

  #affectedAccounts(ids: ReadonlySet<string>): Set<string> {
    const accounts = new Set<string>()
    for (const id of ids) if (this.#restrictions.has(id)) accounts.add(id)
    for (const { id, accountId, ip_policy_ids } of this.#snapshot.restrictions.values()) {
      const uses = !Array.isArray(ip_policy_ids) || ip_policy_ids.some((policy) => ids.has(policy))
      if (uses || ids.has(id)) accounts.add(accountId)
    }
    return accounts
  }

  #updateRestriction(accountId: string): void {
    const restriction = this.#snapshot
      .restrictionsOf(accountId)
      .find(({ type, enforced }) => type === 'endpoints' && enforced)
    if (restriction === undefined) {
      this.#restrictions.delete(accountId)
      return
    }
    try {
      this.#restrictions.set(accountId, this.compile(restriction.ip_policy_ids))
    } catch (error) {
      this.#log.warn({ err: error, id: restriction.id }, 'an IP restriction is broken and admits nobody')
      this.#restrictions.set(accountId, admitNone)
    }
  }
}

import type { Logger } from '../../base/process/log.ts'
import { type AddressFilter, compileRules } from '../../base/values/ip-rules.ts'
import type { ConnectionStep } from '../contracts/module.ts'
import { rulesKey, type Snapshot } from '../contracts/snapshot.ts'
import { edgeError } from '../errors.ts'
import { ModuleConfigError } from '../modules/context.ts'

/** The compiled rules of a set of policies, replaced in place when one of them changes. */
interface RuleSet {
  readonly policyIds: readonly string[]
  admits: AddressFilter
}

const admitNone: AddressFilter = () => false

/**
 * Compiled IP policies, shared by everything that references the same policies, and the IP restrictions of accounts. A
 * rule change updates the shared rule set in place, so edges need no recompile.
 */
export class CompiledIpPolicies {
  readonly #snapshot: Snapshot
  readonly #log: Logger
  readonly #ruleSets = new Map<string, RuleSet>()
  readonly #restrictions = new Map<string, AddressFilter>()

  constructor(snapshot: Snapshot, log: Logger) {
    this.#snapshot = snapshot
    this.#log = log
  }

  /** Returns a matcher that stays current. A missing policy may have held a deny rule, so it is an error (P36). */
  compile(policyIds: readonly string[]): AddressFilter {
    const missing = policyIds.find((id) => this.#snapshot.accountOfPolicy(id) === undefined)
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

  /** For policies that users name by id where no reference is stored: those of another account are missing. */
  requireOwned(policyIds: readonly string[], accountId: string): void {
    const foreign = policyIds.find((id) => this.#snapshot.accountOfPolicy(id) !== accountId)
    if (foreign !== undefined) throw new ModuleConfigError(`the IP policy ${foreign} is missing`)
  }

  /** Recompiles the rule sets and account restrictions that depend on these ids. */
  refresh(ids: ReadonlySet<string>): void {
    for (const [key, ruleSet] of this.#ruleSets) {
      const affected = ruleSet.policyIds.filter((id) => ids.has(id) || ids.has(rulesKey(id)))
      if (affected.length === 0) continue
      if (affected.every((id) => this.#snapshot.accountOfPolicy(id) !== undefined))
        ruleSet.admits = this.#compileRules(ruleSet.policyIds)
      else {
        ruleSet.admits = admitNone
        this.#ruleSets.delete(key)
      }
    }
    for (const accountId of this.#affectedAccounts(ids)) this.#updateRestriction(accountId)
  }

  /** Checks each connection against the current IP restriction of the account. */
  accountRestriction(accountId: string): ConnectionStep {
    const restrictions = this.#restrictions
    return ({ remoteAddress }) => {
      const admits = restrictions.size === 0 ? undefined : restrictions.get(accountId)
      if (admits !== undefined && !admits(remoteAddress))
        throw edgeError('account_address_denied', remoteAddress)
    }
  }

  /** A policy with an unreadable rule admits no address, not even those its other rules allow. */
  #compileRules(policyIds: readonly string[]): AddressFilter {
    try {
      return compileRules(policyIds.flatMap((id) => this.#snapshot.rulesOf(id)))
    } catch (error) {
      this.#log.warn({ err: error, ids: policyIds }, 'IP policy unreadable: denying all addresses')
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
      this.#log.warn({ err: error, id: restriction.id }, 'IP restriction broken: denying all addresses')
      this.#restrictions.set(accountId, admitNone)
    }
  }
}

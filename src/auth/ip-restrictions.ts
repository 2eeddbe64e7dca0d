import type { Logger } from '../base/process/log.ts'
import { type AddressFilter, compileRules } from '../base/values/ip-rules.ts'
import type { PagedFollower, RecordOfKind, RowChange, RowOwner, Store } from '../store/index.ts'

/** The uses of an account that an IP restriction can apply to. */
export type RestrictedUse = 'api' | 'agent' | 'dashboard'

/** IP restrictions of all accounts, kept in memory and updated from the store. */
export interface IpRestrictions {
  start(): Promise<void>
  stop(): void
  /** Whether the account's enforced restrictions admit the address. */
  admits(accountId: string, use: RestrictedUse, address: string): boolean
}

const KINDS = ['ip_restrictions', 'ip_policies', 'ip_policy_rules'] as const
type Kind = (typeof KINDS)[number]

type Restriction = RecordOfKind<'ip_restrictions'>
type Rule = RecordOfKind<'ip_policy_rules'>

const admitNone: AddressFilter = () => false

/** Follows the restrictions and rules of all accounts; compiles those of an account on first use. */
export function createIpRestrictions({ store, log }: { store: Store; log: Logger }): IpRestrictions {
  let records = new RestrictionRecords()
  const compiled = new Map<string, Map<string, AddressFilter>>()
  let subscription: { stop(): void } | undefined

  const follower: PagedFollower<Kind> = {
    ownersOf: new Set(['ip_policies']),
    load() {
      const loaded = new RestrictionRecords()
      return {
        put: (changes) => void loaded.apply(changes),
        putOwners: (_kind, owners) => loaded.addPolicies(owners),
        complete() {
          records = loaded
          compiled.clear()
        },
      }
    },
    change(changes) {
      for (const account of records.apply(changes)) compiled.delete(account)
    },
  }

  function compile(accountId: string): Map<string, AddressFilter> {
    const restrictions = new Map<string, AddressFilter>()
    for (const [id, { enforced, type, ip_policy_ids }] of records.restrictionsOf(accountId)) {
      if (enforced !== true) continue
      try {
        restrictions.set(type, compileRules(records.rulesOf(accountId, ip_policy_ids)))
      } catch (err) {
        log.warn({ err, id }, 'IP restriction broken: denying all addresses')
        restrictions.set(type, admitNone)
      }
    }
    return restrictions
  }

  return {
    async start() {
      subscription = await store.follow(KINDS, follower)
    },
    stop: () => subscription?.stop(),
    admits(accountId, use, address) {
      let restrictions = compiled.get(accountId)
      if (restrictions === undefined) {
        restrictions = compile(accountId)
        compiled.set(accountId, restrictions)
      }
      return restrictions.get(use)?.(address) ?? true
    },
  }
}

/** What restrictions are compiled from. An account may have a million policies, so that nothing here goes through them. */
class RestrictionRecords {
  /** The account of each policy. */
  readonly #policies = new Map<string, string>()
  readonly #rules = new Children<Rule>()
  readonly #restrictions = new Children<Restriction>()

  addPolicies(owners: readonly RowOwner[]): void {
    for (const { id, account } of owners) this.#policies.set(id, account)
  }

  /** Returns the accounts whose restrictions may have changed. */
  apply(changes: readonly RowChange<Kind>[]): Set<string> {
    const accounts = new Set<string>()
    for (const change of changes) {
      const { id, row } = change
      const previous = this.#policies.get(id) ?? this.#restrictions.parentOf(id) ?? this.#accountOfRule(id)
      if (previous !== undefined) accounts.add(previous)
      if (row !== undefined) accounts.add(row.account)
      switch (change.kind) {
        case 'ip_policies':
          if (row === undefined) this.#policies.delete(id)
          else this.#policies.set(id, row.account)
          break
        case 'ip_policy_rules':
          this.#rules.put(id, change.row?.data, change.row?.data.ip_policy_id)
          break
        default:
          this.#restrictions.put(id, change.row?.data, change.row?.account)
      }
    }
    return accounts
  }

  restrictionsOf(accountId: string): Iterable<[id: string, Restriction]> {
    return this.#restrictions.of(accountId)
  }

  /** The rules of these policies. A missing policy may have held a deny rule, so it is an error (P36). */
  rulesOf(accountId: string, policyIds: readonly string[]): Rule[] {
    return policyIds.flatMap((id) => {
      if (this.#policies.get(id) !== accountId) throw new Error(`the IP policy ${id} is missing`)
      return [...this.#rules.of(id)].map(([, rule]) => rule)
    })
  }

  #accountOfRule(id: string): string | undefined {
    const policyId = this.#rules.parentOf(id)
    return policyId && this.#policies.get(policyId)
  }
}

/** Records by id, found by the one they belong to. */
class Children<R> {
  readonly #parents = new Map<string, string>()
  readonly #byParent = new Map<string, Map<string, R>>()

  parentOf(id: string): string | undefined {
    return this.#parents.get(id)
  }

  of(parent: string): Iterable<[id: string, record: R]> {
    return this.#byParent.get(parent) ?? []
  }

  /** Stores a record, or deletes it when it is undefined. */
  put(id: string, record: R | undefined, parent: string | undefined): void {
    const previous = this.#parents.get(id)
    if (previous !== undefined) {
      const siblings = this.#byParent.get(previous)!
      siblings.delete(id)
      if (siblings.size === 0) this.#byParent.delete(previous)
      this.#parents.delete(id)
    }
    if (record === undefined || parent === undefined) return
    this.#parents.set(id, parent)
    const siblings = this.#byParent.get(parent)
    if (siblings === undefined) this.#byParent.set(parent, new Map([[id, record]]))
    else siblings.set(id, record)
  }
}

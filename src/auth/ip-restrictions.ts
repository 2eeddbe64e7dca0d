import { type AddressFilter, compileRules } from '../base/ip-rules.ts'
import type { Logger } from '../base/log.ts'
import type { Follower, Row, Store } from '../store/index.ts'

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

const admitNone: AddressFilter = () => false

/** Follows the restrictions and rules of all accounts; compiles those of an account on first use. */
export function createIpRestrictions({ store, log }: { store: Store; log: Logger }): IpRestrictions {
  const rows = new Map<string, Row<Kind>>()
  const byAccount = new Map<string, Set<string>>()
  let compiled = new Map<string, Map<string, AddressFilter>>()
  let subscription: { stop(): void } | undefined

  function put(row: Row<Kind>): void {
    rows.set(row.id, row)
    const ids = byAccount.get(row.account)
    if (ids === undefined) byAccount.set(row.account, new Set([row.id]))
    else ids.add(row.id)
    compiled.delete(row.account)
  }

  function remove(id: string): void {
    const row = rows.get(id)
    if (row === undefined) return
    rows.delete(id)
    byAccount.get(row.account)?.delete(id)
    compiled.delete(row.account)
  }

  const follower: Follower<Kind> = {
    reset(all) {
      rows.clear()
      byAccount.clear()
      compiled = new Map()
      for (const row of all) put(row)
    },
    change(changes) {
      for (const { id, row } of changes) {
        if (row === undefined) remove(id)
        else put(row)
      }
    },
  }

  function compile(accountId: string): Map<string, AddressFilter> {
    const accountRows = [...(byAccount.get(accountId) ?? [])].map((id) => rows.get(id)!)
    const policies = new Set(accountRows.flatMap(({ kind, id }) => (kind === 'ip_policies' ? [id] : [])))
    const rules = accountRows.filter((row) => row.kind === 'ip_policy_rules')

    /** A missing policy may have held a deny rule, so it is an error (P36). */
    function compilePolicies(ids: readonly string[]): AddressFilter {
      const missing = ids.find((id) => !policies.has(id))
      if (missing !== undefined) throw new Error(`the IP policy ${missing} is missing`)
      const policyRules = rules.filter((rule) => ids.includes(rule.data.ip_policy_id))
      return compileRules(policyRules.map((rule) => rule.data))
    }

    const restrictions = new Map<string, AddressFilter>()
    for (const { kind, id, data } of accountRows) {
      if (kind !== 'ip_restrictions' || data.enforced !== true) continue
      try {
        restrictions.set(data.type, compilePolicies(data.ip_policy_ids))
      } catch (err) {
        log.warn({ err, id }, 'IP restriction broken: denying all addresses')
        restrictions.set(data.type, admitNone)
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

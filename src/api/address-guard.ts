import { type Admits, compileRules, plainAddress } from '../base/ip-rules.ts'
import { IpPolicyRule, IpRestriction } from '../resources/index.ts'
import type { Row, Store } from '../store/index.ts'

/** Which addresses may use the API of an account, as its enforced IP restriction of type `api` says. */
export interface AddressGuard {
  start(store: Pick<Store, 'follow'>): Promise<void>
  admits(accountId: string, address: string): boolean
  stop(): void
}

type Rule = { cidr: string; action: 'allow' | 'deny' }

/** Follows restrictions and rules in memory: nothing is looked up for a call. */
export function createAddressGuard(): AddressGuard {
  const restrictions = new Map<string, { account: string; policies: readonly string[] }>()
  const rules = new Map<string, { policy: string; rule: Rule }>()
  const compiled = new Map<string, Admits>()
  let stopFollowing = () => {}

  function keep(kind: string, id: string, row: Row | undefined): void {
    if (kind === IpRestriction.kind) {
      const applies = row?.data.enforced === true && row.data.type === 'api'
      if (row !== undefined && applies)
        restrictions.set(id, { account: row.account, policies: row.data.ip_policy_ids as string[] })
      else restrictions.delete(id)
    } else if (row === undefined) rules.delete(id)
    else rules.set(id, { policy: row.data.ip_policy_id as string, rule: row.data as unknown as Rule })
  }

  function compileAll(): void {
    compiled.clear()
    for (const { account, policies } of restrictions.values()) {
      const applying = [...rules.values()].filter(({ policy }) => policies.includes(policy))
      compiled.set(account, closedWhenBroken(applying.map(({ rule }) => rule)))
    }
  }

  return {
    async start(store) {
      const following = await store.follow([IpRestriction.kind, IpPolicyRule.kind], {
        reset(rows) {
          restrictions.clear()
          rules.clear()
          for (const row of rows) keep(row.kind, row.id, row)
          compileAll()
        },
        change(changes) {
          for (const { kind, id, row } of changes) keep(kind, id, row)
          compileAll()
        },
      })
      stopFollowing = () => following.stop()
    },
    admits: (accountId, address) => compiled.get(accountId)?.(plainAddress(address)) ?? true,
    stop: () => stopFollowing(),
  }
}

/** A rule that cannot be read must not open the door that the others guard. */
function closedWhenBroken(rules: readonly Rule[]): Admits {
  try {
    return compileRules(rules)
  } catch {
    return () => false
  }
}

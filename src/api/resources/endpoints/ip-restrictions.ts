import { compileRules, type IpRule, plainAddress } from '../../../base/values/ip-rules.ts'
import { IpPolicyRule, IpRestriction, type StoredRecord } from '../../../resources/index.ts'
import type { Transaction } from '../../../store/index.ts'
import type { ApiCall } from '../../call.ts'
import { crud } from '../../crud/crud.ts'
import { problem } from '../../problems.ts'
import { restrictionsUsing } from '../../roles.ts'

type TransactionCall = ApiCall & { tx: Transaction }

/** A rule after the change; `rule` is absent for a deletion. */
interface RuleChange {
  readonly id: string
  readonly rule?: IpRule
}

const MAX_RULES = 10_000

async function rulesOf(
  policyId: string,
  { tx, principal }: TransactionCall,
  change?: RuleChange,
): Promise<IpRule[]> {
  const rules: IpRule[] = []
  for (const { kind, id } of await tx.referrers(policyId, MAX_RULES)) {
    if (kind !== IpPolicyRule.kind || id === change?.id) continue
    const row = await tx.get(kind, principal.accountId, id)
    if (row !== undefined) rules.push(row.data)
  }
  return rules
}

/** The caller's address, if the restriction would reject this call. */
async function rejectedAddress(
  { type, enforced, ip_policy_ids }: StoredRecord<typeof IpRestriction>,
  call: TransactionCall,
  change?: RuleChange,
): Promise<string | undefined> {
  const appliesToCaller = type === 'api' || type === call.principal.channel
  if (!appliesToCaller || !enforced) return undefined
  const rules = change?.rule === undefined ? [] : [change.rule]
  for (const policy of ip_policy_ids) rules.push(...(await rulesOf(policy, call, change)))
  const address = plainAddress(call.source)
  return compileRules(rules)(address) ? undefined : address
}

export const ipRestrictions = crud(IpRestriction, {
  async commit(record, context) {
    // A restriction that locks out its author could not be removed again.
    const address = await rejectedAddress(record, context)
    if (address !== undefined)
      throw problem(
        'conflict',
        `These policies do not allow ${address}, where this call comes from. Add a rule that allows it first, or leave enforced false.`,
      )
    return record
  },
})

/** Rejects a rule change after which an enforced restriction would lock out its author. */
async function rejectLockout(policyId: string, change: RuleChange, call: TransactionCall): Promise<void> {
  for (const { id, restriction } of await restrictionsUsing(policyId, call)) {
    const address = await rejectedAddress(restriction, call, change)
    if (address !== undefined)
      throw problem(
        'conflict',
        `The IP restriction ${id} would no longer let in ${address}, where this call comes from. Add another rule that allows it first, or set enforced of the restriction to false.`,
      )
  }
}

export const ipPolicyRules = crud(IpPolicyRule, {
  async commit(record, context) {
    const { existing, id } = context
    const isHarmless = existing === undefined ? record.action === 'allow' : record.cidr === existing.data.cidr
    if (!isHarmless) await rejectLockout(record.ip_policy_id, { id, rule: record }, context)
    return record
  },
  async beforeRemove({ id, data }, call) {
    if (data.action === 'allow') await rejectLockout(data.ip_policy_id, { id }, call)
  },
})

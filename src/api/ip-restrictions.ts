import { compileRules, type IpRule, plainAddress } from '../base/ip-rules.ts'
import { IpPolicyRule, IpRestriction } from '../resources/index.ts'
import type { Committing } from './call.ts'
import { crud } from './crud.ts'
import { problem } from './problems.ts'

const MAX_RULES = 10_000

async function rulesOf(policyId: string, { tx, principal }: Committing): Promise<IpRule[]> {
  const rules: IpRule[] = []
  for (const { kind, id } of await tx.referrers(policyId, MAX_RULES)) {
    const row = kind === IpPolicyRule.kind ? await tx.get(kind, principal.accountId, id) : undefined
    if (row !== undefined) rules.push(row.data as unknown as IpRule)
  }
  return rules
}

export const ipRestrictions = crud(IpRestriction, {
  async commit(record, committing) {
    // Nobody could take the restriction back once it keeps its own author out.
    const { through } = committing.principal
    const ofAuthor = record.type === 'api' || record.type === through
    if (!ofAuthor || !record.enforced) return record
    const rules: IpRule[] = []
    for (const policy of record.ip_policy_ids) rules.push(...(await rulesOf(policy, committing)))
    const address = plainAddress(committing.source)
    if (!compileRules(rules)(address))
      throw problem(
        'conflict',
        `These policies do not let in ${address}, where this call comes from. Add a rule that allows it first, or leave enforced false.`,
      )
    return record
  },
})

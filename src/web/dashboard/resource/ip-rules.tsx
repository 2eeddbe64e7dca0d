import type { IPPolicyRule, IPRestriction, Page } from '../../../api-client/index.ts'
import { Badge, type Column, Time, useApi } from '../kit/index.ts'
import type { ExtraProps } from '../page-contracts.ts'
import { useCanChange, useSession } from '../session.ts'
import { ChildItems } from './child-items.tsx'
import { useList } from './use-list.ts'

const COLUMNS: readonly Column<IPPolicyRule>[] = [
  { title: 'Range', render: ({ cidr }) => <code>{cidr}</code> },
  {
    title: 'Action',
    render: ({ action }) => <Badge tone={action === 'allow' ? 'good' : 'bad'}>{action}</Badge>,
  },
  { title: 'Description', render: ({ description }) => description },
  { title: 'Created', render: ({ created_at }) => <Time value={created_at} />, kind: 'fit' },
]

/** The rules of an IP policy. */
export default function IpRules({ item }: ExtraProps) {
  const list = useList('/ip_policy_rules', 'ip_policy_rules', {
    filter: `obj.ip_policy.id == "${item.id}"`,
    all: true,
  })
  const restricted = useIsRestricted(item.id)
  const mayChange = useCanChange() && restricted === false
  return (
    <ChildItems
      title="Rules"
      singular="rule"
      path="/ip_policy_rules"
      list={list}
      columns={COLUMNS}
      nameOf={({ cidr }) => cidr}
      parent={{ ip_policy_id: item.id }}
      mayChange={mayChange}
      notice={
        restricted && (
          <p className="quiet">
            An IP restriction uses this policy, so only administrators can change its rules.
          </p>
        )
      }
      emptyText="A policy without rules rejects every address. Deny rules take precedence over allow rules."
    />
  )
}

/** Whether an IP restriction uses the policy and the user is no administrator; undefined while that is unknown. */
function useIsRestricted(policyId: string): boolean | undefined {
  const { role } = useSession().session
  const { value } = useApi<Page<'ip_restrictions', IPRestriction>>(
    role === 'developer' ? '/ip_restrictions' : undefined,
  )
  if (role !== 'developer') return false
  return value?.ip_restrictions.some(({ ip_policies }) => ip_policies.some(({ id }) => id === policyId))
}

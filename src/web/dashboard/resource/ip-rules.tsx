import { useState } from 'react'
import { api } from '../api.ts'
import { ResourceForm } from '../form/resource-form.tsx'
import {
  Badge,
  Button,
  Card,
  type Column,
  Confirm,
  Dialog,
  EmptyState,
  Equivalent,
  LoadError,
  Loading,
  notify,
  Table,
  Time,
  useApi,
} from '../kit/index.ts'
import type { ExtraProps, Item } from '../page-contracts.ts'
import { useCanChange, useSession } from '../session.ts'
import { useList } from './use-list.ts'

type Rule = Item & {
  cidr: string
  action: 'allow' | 'deny'
  description: string
  created_at: string
  ip_policy: { id: string }
}

/** The rules of an IP policy. */
export default function IpRules({ item }: ExtraProps) {
  // The API lists the rules of all policies together, so this reads all of them.
  const list = useList<Rule>('/ip_policy_rules', 'ip_policy_rules', true)
  const [form, setForm] = useState<Rule | 'new'>()
  const [ruleToDelete, setRuleToDelete] = useState<Rule>()
  const restricted = useIsRestricted(item.id)
  const mayChange = useCanChange() && restricted === false
  const rules = list.items.filter(({ ip_policy }) => ip_policy.id === item.id)
  const columns: Column<Rule>[] = [
    { title: 'Range', render: ({ cidr }) => <code>{cidr}</code> },
    {
      title: 'Action',
      render: ({ action }) => <Badge tone={action === 'allow' ? 'good' : 'bad'}>{action}</Badge>,
    },
    { title: 'Description', render: ({ description }) => description },
    { title: 'Created', render: ({ created_at }) => <Time value={created_at} />, kind: 'fit' },
  ]
  if (mayChange)
    columns.push({
      title: 'Actions',
      kind: 'fit',
      render: (rule) => (
        <span className="row-actions">
          <Button kind="quiet" aria-label={`Edit ${rule.cidr}`} onClick={() => setForm(rule)}>
            Edit
          </Button>
          <Button kind="quiet" aria-label={`Delete ${rule.cidr}`} onClick={() => setRuleToDelete(rule)}>
            Delete
          </Button>
        </span>
      ),
    })
  const add = mayChange && <Button onClick={() => setForm('new')}>Add a rule</Button>
  const done = (text: string) => {
    setForm(undefined)
    setRuleToDelete(undefined)
    notify(text)
    list.reload()
  }
  return (
    <Card title="Rules" actions={rules.length > 0 && add}>
      {restricted && (
        <p className="quiet">
          An IP restriction uses this policy, so only administrators can change its rules.
        </p>
      )}
      {list.error && <LoadError error={list.error} retry={list.reload} />}
      {list.loading && <Loading />}
      {rules.length > 0 && <Table label="Rules" columns={columns} rows={rules} keyOf={({ id }) => id} />}
      {rules.length === 0 && !list.loading && !list.error && (
        <EmptyState title="No rules yet" action={add}>
          A policy without rules rejects every address. Deny rules take precedence over allow rules.
        </EmptyState>
      )}
      {form !== undefined && (
        <Dialog title={form === 'new' ? 'New rule' : 'Edit rule'} onClose={() => setForm(undefined)}>
          {form === 'new' ? (
            <ResourceForm
              method="POST"
              path="/ip_policy_rules"
              fixedValues={{ ip_policy_id: item.id }}
              verb="Add rule"
              onCancel={() => setForm(undefined)}
              onDone={() => done('Rule added.')}
            />
          ) : (
            <ResourceForm
              method="PATCH"
              path={`/ip_policy_rules/${form.id}`}
              item={form}
              verb="Save"
              onCancel={() => setForm(undefined)}
              onDone={() => done('Rule saved.')}
            />
          )}
        </Dialog>
      )}
      {ruleToDelete && (
        <Confirm
          title="Delete rule?"
          verb="Delete"
          onClose={() => setRuleToDelete(undefined)}
          onConfirm={async () => {
            await api.delete(`/ip_policy_rules/${ruleToDelete.id}`)
            done('Rule deleted.')
          }}
        >
          <p>
            The rule for <code>{ruleToDelete.cidr}</code> will be permanently deleted.
          </p>
          <Equivalent method="DELETE" path={`/ip_policy_rules/${ruleToDelete.id}`} />
        </Confirm>
      )}
    </Card>
  )
}

/** Whether an IP restriction uses the policy and the user is no administrator; undefined while that is unknown. */
function useIsRestricted(policyId: string): boolean | undefined {
  const { role } = useSession().session
  const { value } = useApi<{ ip_restrictions: { ip_policies: { id: string }[] }[] }>(
    role === 'developer' ? '/ip_restrictions' : undefined,
  )
  if (role !== 'developer') return false
  return value?.ip_restrictions.some(({ ip_policies }) => ip_policies.some(({ id }) => id === policyId))
}

import type { VaultSecret } from '../../../api-client/index.ts'
import { type Column, Time } from '../kit/index.ts'
import type { ExtraProps } from '../page-contracts.ts'
import { useCanChangeAt } from '../session.ts'
import { ChildItems } from './child-items.tsx'
import { useList } from './use-list.ts'
import { IdLink } from './value-view.tsx'

const COLUMNS: readonly Column<VaultSecret>[] = [
  { title: 'Name', render: ({ id, name }) => <IdLink id={id} name={name} /> },
  { title: 'Description', render: ({ description }) => description },
  { title: 'Updated', render: ({ updated_at }) => <Time value={updated_at} />, kind: 'fit' },
]

const FORM = { omit: ['vault_name'] }

/** The secrets of a vault. */
export default function VaultSecrets({ item }: ExtraProps) {
  const list = useList(`/vaults/${item.id}/secrets`, 'secrets')
  return (
    <ChildItems
      title="Secrets"
      singular="secret"
      path="/vault_secrets"
      list={list}
      columns={COLUMNS}
      nameOf={({ name }) => name}
      parent={{ vault_id: item.id }}
      form={FORM}
      mayChange={useCanChangeAt('/vault_secrets')}
      emptyText="Add one, then read it in a traffic policy with secrets.get. Its value is never shown again."
      deleteWarning="Traffic policies that read it reject the requests that need it."
    />
  )
}

import type { ApplicationSession } from '../../../api-client/index.ts'
import { Card, type Column, EmptyState, LoadError, Loading, notify, Table, Time } from '../kit/index.ts'
import type { ExtraProps } from '../page-contracts.ts'
import { ConfirmButton } from '../pages/confirm-button.tsx'
import { useCanChangeAt } from '../session.ts'
import { useList } from './use-list.ts'
import { IdLink } from './value-view.tsx'

/** The browsers in which an application user is signed in. */
export default function UserSessions({ item }: ExtraProps) {
  const list = useList('/app/sessions', 'application_sessions', {
    filter: `obj.application_user.id == "${item.id}"`,
    all: true,
  })
  const columns: Column<ApplicationSession>[] = [
    { title: 'Signed in to', render: ({ id, public_url }) => <IdLink id={id} name={public_url} /> },
    { title: 'IP address', render: ({ browser_session }) => <code>{browser_session.ip_address}</code> },
    { title: 'Browser', render: ({ browser_session }) => browser_session.user_agent.browser_name },
    { title: 'Last active', kind: 'fit', render: ({ last_active }) => <Time value={last_active} /> },
  ]
  if (useCanChangeAt('/app/sessions'))
    columns.push({
      title: 'Actions',
      kind: 'fit',
      render: ({ id, public_url }) => (
        <ConfirmButton
          label="Revoke"
          title="Revoke application session?"
          call={{ method: 'DELETE', path: `/app/sessions/${id}` }}
          onDone={() => {
            notify('Revoked.')
            list.reload()
          }}
        >
          The visitor has to sign in to {public_url} again in this browser; their other sessions continue.
        </ConfirmButton>
      ),
    })
  const { items, loading, error } = list
  return (
    <Card title="Sessions">
      {error && <LoadError error={error} retry={list.reload} />}
      {loading && <Loading />}
      {items.length > 0 && <Table label="Sessions" columns={columns} rows={items} keyOf={({ id }) => id} />}
      {items.length === 0 && !loading && !error && (
        <EmptyState title="Not signed in">The visitor has no active session.</EmptyState>
      )}
    </Card>
  )
}

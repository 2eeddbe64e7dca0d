import type { FailedSignIn } from '../../../dashboard/page-data.ts'
import { BreakableText, Card, type Column, Table, Time, useApi } from '../kit/index.ts'
import type { ExtraProps } from '../page-contracts.ts'

const POLL_MS = 5000

/** Why visitors could not sign in lately; nothing where all could. */
export function FailedSignIns({ isShown }: { isShown: (failed: FailedSignIn) => boolean }) {
  const path = '/dashboard/api/failed_sign_ins'
  const { value } = useApi<{ failed_sign_ins: readonly FailedSignIn[] }>(path, { everyMs: POLL_MS })
  const rows = value?.failed_sign_ins.filter(isShown) ?? []
  if (rows.length === 0) return null
  return (
    <Card title="Failed sign-ins">
      <p>The latest failed sign-ins of visitors since the server started.</p>
      <Table label="Failed sign-ins" columns={COLUMNS} rows={rows} keyOf={keyOf} />
    </Card>
  )
}

/** Those at a cloud endpoint. */
export default function EndpointFailedSignIns({ item: { id } }: ExtraProps) {
  return <FailedSignIns isShown={({ endpoint_id }) => endpoint_id === id} />
}

const keyOf = ({ public_url, failure, person }: FailedSignIn) => JSON.stringify([public_url, failure, person])

const COLUMNS: readonly Column<FailedSignIn>[] = [
  {
    title: 'What happened',
    render: ({ cause, person }) => (
      <>
        {cause} {person && <BreakableText text={person} />}
      </>
    ),
  },
  {
    title: 'What to change',
    // What stands between backticks is code.
    render: ({ setting }) =>
      setting.split('`').map((part, index) => (index % 2 === 0 ? part : <code key={part}>{part}</code>)),
  },
  {
    title: 'Provider',
    render: ({ provider, error, error_description, reason }) => (
      <>
        <BreakableText text={provider} />
        <br />
        <BreakableText text={[error, error_description, reason].filter(Boolean).join(': ')} />
      </>
    ),
  },
  { title: 'Address', render: ({ public_url }) => <BreakableText text={public_url} /> },
  { title: 'Count', kind: 'number', render: ({ count }) => count },
  { title: 'Last', kind: 'fit', render: ({ failed_at }) => <Time value={failed_at} /> },
]

import { Badge, type Column, EmptyState, Page, Time } from './kit/index.ts'
import { ListBody, useSearchedList } from './resource/searched-list.tsx'
import { IdLink, NamedLink } from './resource/value-view.tsx'
import './resource/resource.css'

interface AuditEntry {
  readonly id: string
  readonly at: string
  readonly principal: string | null
  readonly credential: string | null
  readonly source: string | null
  readonly action: string
  readonly kind: string
  readonly object: string | null
  readonly outcome: string
  readonly detail: string | null
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  { title: 'When', render: ({ at }) => <Time value={at} />, kind: 'fit' },
  {
    title: 'What',
    render: ({ action, kind, detail }) => (
      <>
        {action.replaceAll('_', ' ')}{' '}
        <span className="quiet">{kind === detail ? '' : kind.replaceAll('_', ' ')}</span>
        {detail && <div className="quiet">{detail}</div>}
      </>
    ),
  },
  { title: 'Object', render: ({ object }) => object && <IdLink id={object} /> },
  {
    title: 'By',
    render: ({ principal, credential }) =>
      (principal ?? credential) && <NamedLink id={(principal ?? credential)!} />,
  },
  { title: 'From', render: ({ source }) => source && <code>{source}</code> },
  {
    title: 'Outcome',
    render: ({ outcome }) => <Badge tone={outcome === 'done' ? 'good' : 'bad'}>{outcome}</Badge>,
  },
]

/** The audit log: who changed what, from where, and the outcome. */
export default function AuditPage() {
  const list = useSearchedList<AuditEntry>('/audit_events', 'audit_events')
  return (
    <Page
      title="Audit log"
      lead="Every change to this account: who made it, from where, and the outcome. Records are hash-chained, so that removing one is detectable."
    >
      <ListBody
        list={list}
        title="Audit log"
        subject="the audit log"
        columns={COLUMNS}
        empty={
          <EmptyState title="No changes yet">
            Everything that is created, changed or deleted is recorded here.
          </EmptyState>
        }
      />
    </Page>
  )
}

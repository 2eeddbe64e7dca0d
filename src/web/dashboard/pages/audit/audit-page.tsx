import { useState } from 'react'
import { LocalTime } from '../../../shared/time.tsx'
import { errorMessage } from '../../api.ts'
import { Badge, BreakableText, Button, type Column, EmptyState, notify, Page, Time } from '../../kit/index.ts'
import { listAll } from '../../lists.ts'
import { ListBody, useSearchedList } from '../../resource/searched-list.tsx'
import { IdLink, NamedLink } from '../../resource/value-view.tsx'
import { describeAction } from '../overview/audit-labels.ts'
import { useLoad } from '../use-load.ts'
import { type AuditRecord, auditCsv, saveFile } from './audit-export.ts'
import { type AuditFilter, NO_FILTER, PERIODS, toFilterExpression } from './audit-filter.ts'
import { Changes } from './changes.tsx'
import './audit.css'
import '../../resource/resource.css'
import '../pages.css'

const COLUMNS: readonly Column<AuditRecord>[] = [
  {
    title: 'Time',
    kind: 'fit',
    render: ({ at }) => (
      <>
        <LocalTime value={at} />
        <p className="quiet">
          <Time value={at} />
        </p>
      </>
    ),
  },
  { title: 'Person', render: (record) => <Person record={record} /> },
  {
    title: 'Action',
    render: ({ action, kind, object, outcome, changes }) => (
      <>
        {describeAction({ kind, action, outcome })} {object && <IdLink id={object} />}
        {changes && changes.length > 0 && <Changes changes={changes} deleted={action === 'delete'} />}
      </>
    ),
  },
  {
    title: 'Outcome',
    kind: 'fit',
    render: ({ outcome, detail }) => (
      <>
        <Badge tone={outcome === 'done' ? 'good' : 'bad'}>{outcome === 'done' ? 'done' : 'rejected'}</Badge>
        {outcome !== 'done' && detail && <p className="quiet">{detail}</p>}
      </>
    ),
  },
]

/** The audit log: who changed what, when and from where, with the old and new values. */
export default function AuditPage() {
  const [filter, setFilter] = useState(NO_FILTER)
  const expression = toFilterExpression(filter)
  return (
    <Page
      title="Audit log"
      lead="Every change to this account, every sign-in and every view of a secret: by whom, from where, and the outcome. Records are hash-chained, so that removing one is detectable."
      actions={<Export expression={expression} />}
    >
      <Filters filter={filter} onFilter={setFilter} />
      {/* The key starts the list over with another filter. */}
      <Records key={expression} expression={expression} onClear={() => setFilter(NO_FILTER)} />
    </Page>
  )
}

function Records({ expression, onClear }: { expression: string; onClear: () => void }) {
  const list = useSearchedList('/audit_events', 'audit_events', {
    filter: expression || undefined,
  })
  return (
    <ListBody
      list={list}
      title="Audit log"
      subject="the audit log"
      columns={COLUMNS}
      empty={
        expression === '' ? (
          <EmptyState title="No changes yet">
            Everything that is created, changed or deleted is recorded here.
          </EmptyState>
        ) : (
          <EmptyState title="No matches" action={<Button onClick={onClear}>Clear filter</Button>}>
            No record matches this filter.
          </EmptyState>
        )
      }
    />
  )
}

function pathWith(expression: string): string {
  return expression === '' ? '/audit_events' : `/audit_events?filter=${encodeURIComponent(expression)}`
}

function Filters({ filter, onFilter }: { filter: AuditFilter; onFilter: (filter: AuditFilter) => void }) {
  const people = useLoad(async (signal) => {
    const [users, bots] = await Promise.all([
      listAll('/users', 'users', signal),
      listAll('/bot_users', 'bot_users', signal),
    ])
    return [
      ...users.map(({ id, email }) => ({ id, name: email })),
      ...bots.map(({ id, name }) => ({ id, name: name || id })),
    ]
  })
  const select = (
    label: string,
    name: keyof AuditFilter,
    options: readonly (readonly [string, string])[],
  ) => (
    <label className="filter">
      <span className="quiet">{label}</span>
      <select value={filter[name]} onChange={(event) => onFilter({ ...filter, [name]: event.target.value })}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
  return (
    <div className="filters">
      {select('Period', 'period', PERIODS)}
      {select('Person', 'person', [
        ['', 'Everyone'],
        ...(people.value?.map(({ id, name }) => [id, name] as const) ?? []),
      ])}
      {select('Action', 'action', [
        ['', 'All actions'],
        ['create', 'Created'],
        ['update', 'Changed'],
        ['delete', 'Deleted'],
        ['sign_in', 'Signed in'],
      ])}
      {select('Outcome', 'outcome', [
        ['', 'All outcomes'],
        ['done', 'Done'],
        ['refused', 'Rejected'],
      ])}
    </div>
  )
}

/** Saves the records that match the filter, at most 5,000. */
function Export({ expression }: { expression: string }) {
  const [busy, setBusy] = useState(false)
  const save = async (format: 'csv' | 'json') => {
    setBusy(true)
    try {
      const records = await listAll(pathWith(expression), 'audit_events')
      const [text, type] =
        format === 'csv'
          ? [auditCsv(records), 'text/csv']
          : [JSON.stringify(records, null, 2), 'application/json']
      saveFile(`audit-log.${format}`, text, type)
    } catch (error) {
      notify(errorMessage(error))
    }
    setBusy(false)
  }
  return (
    <>
      <Button busy={busy} onClick={() => void save('csv')}>
        Export CSV
      </Button>
      <Button busy={busy} onClick={() => void save('json')}>
        Export JSON
      </Button>
    </>
  )
}

function Person({ record: { principal, credential, source, detail } }: { record: AuditRecord }) {
  return (
    <>
      {principal ? <NamedLink id={principal} /> : detail === 'operator' ? 'Operator' : 'The server'}
      <p className="quiet">
        {source && <BreakableText text={source} />} {credential && <IdLink id={credential} />}
      </p>
    </>
  )
}

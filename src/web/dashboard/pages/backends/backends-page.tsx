import { useState } from 'react'
import {
  Badge,
  ButtonLink,
  type Column,
  EmptyState,
  LoadError,
  Loading,
  Page,
  Search,
  Table,
  Time,
} from '../../kit/index.ts'
import { hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { type BackendNode, type FlowContext, resolveBackend } from '../edges/request-flow.ts'
import { useLive, versionOf } from '../live.ts'
import type { Backend } from '../resources.ts'
import { useFlowContext } from './flow-context.ts'
import { BACKEND_KIND_TEXTS } from './kinds.ts'
import '../pages.css'

/** The list of all backends. */
export default function BackendsPage() {
  const latest = useLive().samples.at(-1)
  const mayChange = useCanChange()
  const [search, setSearch] = useState('')
  const { value, error, loading, reload } = useFlowContext(versionOf(latest))
  const create = mayChange && (
    <ButtonLink to="/backends/new" kind="main" shortcut="n">
      New backend
    </ButtonLink>
  )
  const backends =
    value && [...value.backends.values()].sort((one, other) => (one.created_at < other.created_at ? 1 : -1))
  const rows = backends?.filter((backend) => {
    const { title, summary } = resolveBackend(backend.id, value!, 0)
    return `${title} ${summary} ${backend.id}`.toLowerCase().includes(search.toLowerCase())
  })
  return (
    <Page
      title="Backends"
      lead="What serves the traffic of edges: agents selected by labels, fixed responses and addresses, and groups of those."
      actions={backends && backends.length > 0 && create}
    >
      {error && <LoadError error={error} retry={reload} />}
      {loading && <Loading />}
      {backends?.length === 0 && (
        <EmptyState title="No backend yet" action={create}>
          An edge forwards requests to a backend. Most people start with a tunnel group.
        </EmptyState>
      )}
      {rows && backends && backends.length > 0 && (
        <>
          <div className="tools">
            <Search label="Search backends" value={search} onValue={setSearch} />
          </div>
          <Table label="Backends" columns={columnsFor(value!)} rows={rows} keyOf={({ id }) => id} />
          {rows.length === 0 && <p className="quiet">No matches.</p>}
        </>
      )}
    </Page>
  )
}

function columnsFor(context: FlowContext): readonly Column<Backend>[] {
  const nodeOf = ({ id }: Backend) => resolveBackend(id, context, 0)
  return [
    {
      title: 'Backend',
      render: (backend) => <a href={hrefTo(`/backends/${backend.id}`)}>{nodeOf(backend).title}</a>,
    },
    { title: 'Kind', render: (backend) => BACKEND_KIND_TEXTS[nodeOf(backend).kind!].title },
    { title: 'Summary', render: (backend) => nodeOf(backend).summary },
    { title: 'Status', kind: 'fit', render: (backend) => <StatusBadge node={nodeOf(backend)} /> },
    { title: 'Created', kind: 'fit', render: ({ created_at }) => <Time value={created_at} /> },
  ]
}

function StatusBadge({ node: { kind, ready, tunnels } }: { node: BackendNode }) {
  if (!ready) return <Badge tone="warn">unavailable</Badge>
  return <Badge tone="good">{kind === 'tunnel_group' ? `${tunnels.length} online` : 'ready'}</Badge>
}

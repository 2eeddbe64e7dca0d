import { Badge, BreakableText, ButtonLink, type Column, EmptyState, Time } from '../../kit/index.ts'
import { hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { type BackendNode, type FlowContext, resolveBackend } from '../edges/request-flow.ts'
import { ListPage } from '../list-page.tsx'
import { useLive, versionOf } from '../live.ts'
import { useFlowContext } from './flow-context.ts'
import { BACKEND_KIND_TEXTS } from './kinds.ts'

/** The list of all backends. */
export default function BackendsPage() {
  const latest = useLive().samples.at(-1)
  const mayChange = useCanChange()
  const load = useFlowContext(versionOf(latest))
  const create = mayChange && (
    <ButtonLink to="/backends/new" kind="main" shortcut="n">
      New backend
    </ButtonLink>
  )
  const rows = load.value && backendRows(load.value)
  return (
    <ListPage
      title="Backends"
      lead="What serves the traffic of edges: agents selected by labels, fixed responses and addresses, and groups of those."
      actions={rows && rows.length > 0 && create}
      load={load}
      items={rows}
      empty={
        <EmptyState title="No backends yet" action={create}>
          An edge forwards requests to a backend. Most people start with a tunnel group.
        </EmptyState>
      }
      textOf={({ node, id }) => `${node.title} ${node.summary} ${id}`}
      columns={COLUMNS}
    />
  )
}

interface BackendRow {
  readonly id: string
  readonly createdAt: string
  readonly node: BackendNode
}

/** The backends, newest first. */
function backendRows(context: FlowContext): BackendRow[] {
  return [...context.backends.values()]
    .sort((one, other) => (one.created_at < other.created_at ? 1 : -1))
    .map(({ id, created_at }) => ({ id, createdAt: created_at, node: resolveBackend(id, context, 0) }))
}

const COLUMNS: readonly Column<BackendRow>[] = [
  { title: 'Backend', render: ({ id, node }) => <a href={hrefTo(`/backends/${id}`)}>{node.title}</a> },
  { title: 'Kind', kind: 'fit', render: ({ node: { kind } }) => kind && BACKEND_KIND_TEXTS[kind].title },
  { title: 'Summary', render: ({ node }) => <BreakableText text={node.summary} /> },
  { title: 'Status', kind: 'fit', render: ({ node }) => <StatusBadge node={node} /> },
  { title: 'Created', kind: 'fit', render: ({ createdAt }) => <Time value={createdAt} /> },
]

function StatusBadge({ node: { kind, ready, tunnels } }: { node: BackendNode }) {
  if (!ready) return <Badge tone="warn">unavailable</Badge>
  return <Badge tone="good">{kind === 'tunnel_group' ? `${tunnels.length} online` : 'ready'}</Badge>
}

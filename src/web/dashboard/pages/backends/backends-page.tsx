import {
  Badge,
  BreakableText,
  Button,
  ButtonLink,
  type Column,
  EmptyState,
  LoadStatus,
  Page,
  Pager,
  Search,
  Table,
  Time,
} from '../../kit/index.ts'
import type { PageProps } from '../../page-contracts.ts'
import { hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { type BackendNode, resolveBackend } from '../edges/request-flow.ts'
import { type ListFilter, readListFilter, showListFilter } from '../list-filter.ts'
import { useLive, versionOf } from '../live.ts'
import { useLoad } from '../use-load.ts'
import { BACKENDS_PER_PAGE, type ListedBackends, listBackends } from './backends.ts'
import { BACKEND_KIND_TEXTS, KIND_ORDER } from './kinds.ts'
import '../pages.css'

/** The list of backends: a page of those that match the filter. */
export default function BackendsPage({ query }: PageProps) {
  const latest = useLive().samples.at(-1)
  const mayChange = useCanChange()
  const filter = readListFilter(query, KIND_ORDER)
  const { search, kind, page } = filter
  const load = useLoad((signal) => listBackends({ search, kinds: kind ? [kind] : [], page }, signal), {
    everyMs: 30_000,
    key: `${versionOf(latest)} ${query}`,
  })
  const { value } = load
  const create = mayChange && (
    <ButtonLink to="/backends/new" kind="main" shortcut="n">
      New backend
    </ButtonLink>
  )
  const change = (changes: Partial<ListFilter>) =>
    showListFilter('/backends', { ...filter, page: 1, ...changes })
  return (
    <Page
      title="Backends"
      lead="What serves the traffic of edges: agents selected by labels, fixed responses and addresses, and groups of these."
      actions={value && value.total > 0 && create}
    >
      <LoadStatus load={load} />
      {value?.total === 0 && (
        <EmptyState title="No backends yet" action={create}>
          An edge forwards requests to a backend. Most people start with a tunnel group.
        </EmptyState>
      )}
      {value && value.total > 0 && (
        <>
          <div className="tools">
            <Search label="Search backends" value={search} onValue={(words) => change({ search: words })} />
            <select aria-label="Kind" value={kind} onChange={(event) => change({ kind: event.target.value })}>
              <option value="">All kinds</option>
              {KIND_ORDER.map((each) => (
                <option key={each} value={each}>
                  {BACKEND_KIND_TEXTS[each].title}
                </option>
              ))}
            </select>
          </div>
          {value.ids.length > 0 && (
            <Table label="Backends" columns={COLUMNS} rows={backendRows(value)} keyOf={({ id }) => id} />
          )}
          {value.matching === 0 && (
            <EmptyState
              title="No matches"
              action={<Button onClick={() => change({ search: '', kind: '' })}>Clear filter</Button>}
            >
              No backend matches this filter.
            </EmptyState>
          )}
          <Pager
            page={page}
            pageSize={BACKENDS_PER_PAGE}
            matching={value.matching}
            onPage={(next) => change({ page: next })}
          />
        </>
      )}
    </Page>
  )
}

interface BackendRow {
  readonly id: string
  readonly createdAt: string
  readonly node: BackendNode
}

function backendRows({ ids, context }: ListedBackends): BackendRow[] {
  return ids.map((id) => ({
    id,
    createdAt: context.backends.get(id)!.created_at,
    node: resolveBackend(id, context, 0),
  }))
}

const COLUMNS: readonly Column<BackendRow>[] = [
  {
    title: 'Backend',
    render: ({ id, node }) => (
      <a href={hrefTo(`/backends/${id}`)}>
        <BreakableText text={node.title} />
      </a>
    ),
  },
  { title: 'Kind', kind: 'fit', render: ({ node: { kind } }) => kind && BACKEND_KIND_TEXTS[kind].title },
  { title: 'Summary', render: ({ node }) => <BreakableText text={node.summary} /> },
  { title: 'Status', kind: 'fit', render: ({ node }) => <StatusBadge node={node} /> },
  { title: 'Created', kind: 'fit', render: ({ createdAt }) => <Time value={createdAt} /> },
]

function StatusBadge({ node: { kind, ready, online } }: { node: BackendNode }) {
  if (!ready) return <Badge tone="warn">unavailable</Badge>
  return <Badge tone="good">{kind === 'tunnel_group' ? `${online} online` : 'ready'}</Badge>
}

import { api } from '../../api.ts'
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
  type Sort,
  Table,
  Time,
} from '../../kit/index.ts'
import type { PageProps } from '../../page-contracts.ts'
import { hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { type ListFilter, readListFilter, showListFilter } from '../list-filter.ts'
import { useLive, versionOf } from '../live.ts'
import { useLoad } from '../use-load.ts'
import { EDGE_KINDS, type EdgeListing, type EdgePage, hostOf } from './edges.ts'
import { MODULES, type ModuleName } from './modules.ts'
import '../pages.css'

const PAGE_SIZE = 50
const NEWEST_FIRST: Sort = { key: 'created', descending: true }

/** The list of edges: a page of those that match the filter. */
export default function EdgesPage({ query }: PageProps) {
  const mayChange = useCanChange()
  const filter = readFilter(query)
  const latest = useLive().samples.at(-1)
  const load = useLoad((signal) => listEdgePage(filter, signal), {
    key: `${versionOf(latest)} ${query}`,
  })
  const { value } = load
  const create = mayChange && (
    <ButtonLink to="/edges/new" kind="main" shortcut="n">
      New edge
    </ButtonLink>
  )
  const change = (changes: Partial<Filter>) => showFilter({ ...filter, page: 1, ...changes })
  return (
    <Page
      title="Edges"
      lead="Persistent public endpoints, with the modules that process their traffic and the backends that serve it."
      actions={value && value.total > 0 && create}
    >
      <LoadStatus load={load} />
      {value?.total === 0 && (
        <EmptyState title="No edges yet" action={create}>
          An edge adds sign-in, IP policies, several backends and more to a host name, and persists while
          agents come and go.
        </EmptyState>
      )}
      {value && value.total > 0 && (
        <>
          <div className="tools">
            <Search label="Search edges" value={filter.search} onValue={(search) => change({ search })} />
            <select
              aria-label="Kind"
              value={filter.kind}
              onChange={(event) => change({ kind: event.target.value })}
            >
              <option value="">All kinds</option>
              {EDGE_KINDS.map((kind) => (
                <option key={kind} value={kind}>
                  {kind.toUpperCase()}
                </option>
              ))}
            </select>
          </div>
          {value.edges.length > 0 && (
            <Table
              label="Edges"
              columns={COLUMNS}
              rows={value.edges}
              keyOf={({ id }) => id}
              sort={filter.sort}
              onSort={(sort) => change({ sort })}
            />
          )}
          {value.matching === 0 && (
            <EmptyState
              title="No matches"
              action={<Button onClick={() => change({ search: '', kind: '' })}>Clear filter</Button>}
            >
              No edge matches this filter.
            </EmptyState>
          )}
          <Pager
            page={filter.page}
            pageSize={PAGE_SIZE}
            matching={value.matching}
            onPage={(page) => change({ page })}
          />
        </>
      )}
    </Page>
  )
}

/** The filter of a list, with its order. */
interface Filter extends ListFilter {
  readonly sort: Sort
}

function readFilter(query: URLSearchParams): Filter {
  const sortKey = query.get('sort')
  return {
    ...readListFilter(query, EDGE_KINDS),
    sort: COLUMNS.some((column) => column.sortKey === sortKey)
      ? { key: sortKey!, descending: query.get('order') === 'descending' }
      : NEWEST_FIRST,
  }
}

function showFilter({ sort, ...filter }: Filter): void {
  const isDefault = sort.key === NEWEST_FIRST.key && sort.descending === NEWEST_FIRST.descending
  const order = sort.descending ? 'descending' : 'ascending'
  showListFilter('/edges', filter, isDefault ? {} : { sort: sort.key, order })
}

function listEdgePage({ search, kind, sort, page }: Filter, signal: AbortSignal): Promise<EdgePage> {
  const query = new URLSearchParams({
    sort: sort.key,
    order: sort.descending ? 'descending' : 'ascending',
    offset: String((page - 1) * PAGE_SIZE),
    limit: String(PAGE_SIZE),
    ...(search.trim() !== '' && { q: search }),
    ...(kind !== '' && { kind }),
  })
  return api.get<EdgePage>(`/dashboard/api/edges?${query}`, signal)
}

const COLUMNS: readonly Column<EdgeListing>[] = [
  {
    title: 'Edge',
    sortKey: 'name',
    render: (edge) => (
      <a href={hrefTo(`/edges/${edge.id}`)}>
        <BreakableText text={nameOf(edge)} />
      </a>
    ),
  },
  {
    title: 'Kind',
    kind: 'fit',
    sortKey: 'kind',
    render: ({ kind }) => <Badge tone="info">{kind.toUpperCase()}</Badge>,
  },
  {
    title: 'Host names',
    sortKey: 'host',
    kind: 'mono',
    render: ({ hostports, kind }) =>
      hostports.length === 0 ? (
        <Badge tone="warn">no name yet</Badge>
      ) : (
        <BreakableText
          text={hostports.map((hostport) => (kind === 'tcp' ? hostport : hostOf(hostport))).join(', ')}
        />
      ),
  },
  { title: 'Modules', render: (edge) => modulesOf(edge).join(', ') || 'none' },
  {
    title: 'Created',
    kind: 'fit',
    sortKey: 'created',
    render: ({ created_at }) => <Time value={created_at} />,
  },
]

/** The display name of an edge. */
export function nameOf({
  description,
  hostports,
  id,
}: {
  description: string
  hostports: readonly string[] | null
  id: string
}): string {
  return description || (hostports?.[0] && hostOf(hostports[0])) || id
}

function modulesOf({ modules, routes }: EdgeListing): string[] {
  const enabled = new Set([...modules, ...routes.flatMap((route) => route.modules)])
  return (Object.keys(MODULES) as ModuleName[])
    .filter((name) => enabled.has(name))
    .map((name) => MODULES[name].title)
}

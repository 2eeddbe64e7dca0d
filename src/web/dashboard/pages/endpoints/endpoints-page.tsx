import { useState } from 'react'
import {
  Badge,
  ButtonLink,
  type Column,
  CopyButton,
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
import { CommandLine } from '../command-line.tsx'
import { useLoad } from '../list-all.ts'
import { useLive, versionOf } from '../live.ts'
import type { Endpoint } from '../resources.ts'
import { listEndpoints } from './list-endpoints.ts'
import '../pages.css'

const KINDS = ['All', 'Agents', 'Edges'] as const
type Kind = (typeof KINDS)[number]

/** The list of all online endpoints, of agents and edges. */
export default function EndpointsPage() {
  const latest = useLive().samples.at(-1)
  const [search, setSearch] = useState('')
  const [kind, setKind] = useState<Kind>('All')
  const mayChange = useCanChange()
  const { value, error, loading, reload } = useLoad((signal) => listEndpoints(signal), {
    key: versionOf(latest),
  })
  const rows = value?.filter(
    (endpoint) =>
      (kind === 'All' || (kind === 'Edges') === (endpoint.edge !== null)) &&
      [endpoint.public_url, endpoint.name, endpoint.description, endpoint.upstream_url]
        .join(' ')
        .toLowerCase()
        .includes(search.toLowerCase()),
  )
  return (
    <Page
      title="Endpoints"
      lead="Public addresses that are online now. Agent endpoints come and go with their agent; edge endpoints are persistent."
      actions={mayChange && <ButtonLink to="/edges/new">New edge</ButtonLink>}
    >
      {error && <LoadError error={error} retry={reload} />}
      {loading && <Loading />}
      {value?.length === 0 && (
        <EmptyState title="No endpoints yet">
          <p>An agent creates an endpoint when it starts:</p>
          <CommandLine text="adit http 3000" />
        </EmptyState>
      )}
      {rows && value && value.length > 0 && (
        <>
          <div className="tools">
            <Search label="Search endpoints" value={search} onValue={setSearch} />
            {KINDS.map((each) => (
              <button type="button" key={each} aria-pressed={kind === each} onClick={() => setKind(each)}>
                {each}
              </button>
            ))}
          </div>
          <Table label="Endpoints" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />
          {rows.length === 0 && <p className="quiet">No matches.</p>}
        </>
      )}
    </Page>
  )
}

const COLUMNS: readonly Column<Endpoint>[] = [
  {
    title: 'Address',
    render: ({ public_url }) =>
      /^https?:/.test(public_url) ? (
        <a href={public_url} target="_blank" rel="noreferrer">
          {public_url}
        </a>
      ) : (
        <code>{public_url}</code>
      ),
  },
  {
    title: 'Served by',
    render: ({ edge, tunnel_session, upstream_url, name, description }) =>
      edge !== null ? (
        <a href={hrefTo(`/edges/${edge.id}`)}>{description || 'Edge'}</a>
      ) : (
        <>
          {tunnel_session && <a href={hrefTo(`/agents/${tunnel_session.id}`)}>{name || 'Agent'}</a>}{' '}
          {upstream_url && <code>{upstream_url}</code>}
        </>
      ),
  },
  { title: 'Kind', kind: 'fit', render: ({ proto }) => <Badge tone="info">{proto}</Badge> },
  { title: 'Since', kind: 'fit', render: ({ created_at }) => <Time value={created_at} /> },
  { title: '', kind: 'fit', render: ({ public_url }) => <CopyButton text={public_url} /> },
]

import { useState } from 'react'
import { Badge, ButtonLink, type Column, CopyButton, EmptyState, Time } from '../../kit/index.ts'
import { hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { CommandLine } from '../command-line.tsx'
import { useLoad } from '../list-all.ts'
import { ListPage } from '../list-page.tsx'
import { useLive, versionOf } from '../live.ts'
import type { Endpoint } from '../resources.ts'
import { listEndpoints } from './list-endpoints.ts'

const KINDS = ['All', 'Agents', 'Edges', 'Cloud'] as const
type Kind = (typeof KINDS)[number]

const kindOf = ({ edge, type }: Endpoint): Kind =>
  edge !== null ? 'Edges' : type === 'cloud' ? 'Cloud' : 'Agents'

/** The list of all online endpoints: of agents and edges, and cloud endpoints. */
export default function EndpointsPage() {
  const latest = useLive().samples.at(-1)
  const [kind, setKind] = useState<Kind>('All')
  const mayChange = useCanChange()
  const load = useLoad((signal) => listEndpoints(signal), {
    key: versionOf(latest),
  })
  return (
    <ListPage
      title="Endpoints"
      lead="Public addresses that are online now. Agent endpoints come and go with their agent; those of edges and cloud endpoints are persistent."
      actions={
        mayChange && (
          <>
            <ButtonLink to="/edges/new">New edge</ButtonLink>
            <ButtonLink to="/endpoints/new" kind="main" shortcut="n">
              New cloud endpoint
            </ButtonLink>
          </>
        )
      }
      load={load}
      items={load.value?.filter((each) => kind === 'All' || kind === kindOf(each))}
      total={load.value?.length}
      empty={
        <EmptyState title="No endpoints yet">
          <p>An agent creates an endpoint when it starts:</p>
          <CommandLine text="adit http 3000" />
        </EmptyState>
      }
      textOf={({ public_url, name, description, upstream_url }) =>
        [public_url, name, description, upstream_url].join(' ')
      }
      columns={COLUMNS}
      filters={KINDS.map((each) => (
        <button type="button" key={each} aria-pressed={kind === each} onClick={() => setKind(each)}>
          {each}
        </button>
      ))}
    />
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
    render: ({ id, type, edge, tunnel_session, upstream_url, name, description }) =>
      edge !== null ? (
        <a href={hrefTo(`/edges/${edge.id}`)}>{description || 'Edge'}</a>
      ) : type === 'cloud' ? (
        <a href={hrefTo(`/endpoints/${id}`)}>{description || 'Cloud endpoint'}</a>
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

import { useState } from 'react'
import {
  Badge,
  ButtonLink,
  type Column,
  Empty,
  Failed,
  Loading,
  Page,
  Search,
  Table,
  Time,
} from '../../kit/index.ts'
import { hrefTo } from '../../route.ts'
import { useMayChange } from '../../session.ts'
import { useLoaded } from '../list-all.ts'
import { useLive, versionOf } from '../live.ts'
import { hostOf, type ListedEdge, listEdges } from './edges.ts'
import { MODULES, type ModuleName } from './modules.ts'
import '../pages.css'

/** All edges, whatever they serve. */
export default function EdgesPage() {
  const mayChange = useMayChange()
  const [wanted, setWanted] = useState('')
  const now = useLive().samples.at(-1)
  const { value, error, loading, reload } = useLoaded((signal) => listEdges(signal), { key: versionOf(now) })
  const create = mayChange && (
    <ButtonLink to="/edges/new" kind="main" shortcut="n">
      New edge
    </ButtonLink>
  )
  const rows = value?.filter(({ description, hostports, id }) =>
    [description, ...hostports, id].join(' ').toLowerCase().includes(wanted.toLowerCase()),
  )
  return (
    <Page
      title="Edges"
      lead="Public entrances that stay, with what happens to visitors on the way in and who answers them."
      actions={value && value.length > 0 && create}
    >
      {error && <Failed error={error} retry={reload} />}
      {loading && <Loading />}
      {value?.length === 0 && (
        <Empty title="No edge yet" action={create}>
          With an edge a name has sign-in, IP policies, several backends and more, and it stays when agents
          come and go.
        </Empty>
      )}
      {rows && value && value.length > 0 && (
        <>
          <div className="tools">
            <Search label="Search edges" value={wanted} onValue={setWanted} />
          </div>
          <Table label="Edges" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />
          {rows.length === 0 && <p className="quiet">None of them fits.</p>}
        </>
      )}
    </Page>
  )
}

const COLUMNS: readonly Column<ListedEdge>[] = [
  {
    title: 'Edge',
    of: (edge) => <a href={hrefTo(`/edges/${edge.id}`)}>{nameOf(edge)}</a>,
  },
  { title: 'Kind', kind: 'fit', of: ({ kind }) => <Badge tone="info">{kind.toUpperCase()}</Badge> },
  {
    title: 'Answers at',
    kind: 'mono',
    of: ({ hostports, kind }) =>
      hostports.length === 0 ? (
        <Badge tone="warn">no name yet</Badge>
      ) : (
        hostports.map((hostport) => (kind === 'tcp' ? hostport : hostOf(hostport))).join(', ')
      ),
  },
  { title: 'On the way', of: (edge) => modulesOf(edge).join(', ') || 'nothing' },
  { title: 'Created', kind: 'fit', of: ({ created_at }) => <Time at={created_at} /> },
]

/** An edge as people know it. */
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

function modulesOf({ modules, routes }: ListedEdge): string[] {
  const on = new Set([...modules, ...routes.flatMap((route) => route.modules)])
  return (Object.keys(MODULES) as ModuleName[])
    .filter((name) => on.has(name))
    .map((name) => MODULES[name].title)
}

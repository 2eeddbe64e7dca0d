import { Badge, ButtonLink, type Column, EmptyState, Time } from '../../kit/index.ts'
import { hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { useLoad } from '../list-all.ts'
import { ListPage } from '../list-page.tsx'
import { useLive, versionOf } from '../live.ts'
import { type EdgeListing, hostOf, listEdges } from './edges.ts'
import { MODULES, type ModuleName } from './modules.ts'

/** The list of all edges. */
export default function EdgesPage() {
  const mayChange = useCanChange()
  const latest = useLive().samples.at(-1)
  const load = useLoad((signal) => listEdges(signal), { key: versionOf(latest) })
  const edges = load.value
  const create = mayChange && (
    <ButtonLink to="/edges/new" kind="main" shortcut="n">
      New edge
    </ButtonLink>
  )
  return (
    <ListPage
      title="Edges"
      lead="Persistent public endpoints, with the modules that process their traffic and the backends that serve it."
      actions={edges && edges.length > 0 && create}
      load={load}
      items={edges}
      empty={
        <EmptyState title="No edges yet" action={create}>
          An edge adds sign-in, IP policies, several backends and more to a host name, and stays when agents
          come and go.
        </EmptyState>
      }
      textOf={({ description, hostports, id }) => [description, ...hostports, id].join(' ')}
      columns={COLUMNS}
    />
  )
}

const COLUMNS: readonly Column<EdgeListing>[] = [
  {
    title: 'Edge',
    render: (edge) => <a href={hrefTo(`/edges/${edge.id}`)}>{nameOf(edge)}</a>,
  },
  { title: 'Kind', kind: 'fit', render: ({ kind }) => <Badge tone="info">{kind.toUpperCase()}</Badge> },
  {
    title: 'Host names',
    kind: 'mono',
    render: ({ hostports, kind }) =>
      hostports.length === 0 ? (
        <Badge tone="warn">no name yet</Badge>
      ) : (
        hostports.map((hostport) => (kind === 'tcp' ? hostport : hostOf(hostport))).join(', ')
      ),
  },
  { title: 'Modules', render: (edge) => modulesOf(edge).join(', ') || 'none' },
  { title: 'Created', kind: 'fit', render: ({ created_at }) => <Time value={created_at} /> },
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

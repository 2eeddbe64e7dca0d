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
import { type Answerer, answererOf, type Surroundings } from '../edges/request-flow.ts'
import { useLive, versionOf } from '../live.ts'
import type { Backend } from '../resources.ts'
import { useSurroundings } from './flow-context.ts'
import { KINDS } from './kinds.ts'
import '../pages.css'

/** Everybody who can answer, whatever kind. */
export default function BackendsPage() {
  const now = useLive().samples.at(-1)
  const mayChange = useMayChange()
  const [wanted, setWanted] = useState('')
  const { value, error, loading, reload } = useSurroundings(versionOf(now))
  const create = mayChange && (
    <ButtonLink to="/backends/new" kind="main" shortcut="n">
      New backend
    </ButtonLink>
  )
  const all =
    value && [...value.backends.values()].sort((one, other) => (one.created_at < other.created_at ? 1 : -1))
  const rows = all?.filter((backend) => {
    const { title, brief } = answererOf(backend.id, value!, 0)
    return `${title} ${brief} ${backend.id}`.toLowerCase().includes(wanted.toLowerCase())
  })
  return (
    <Page
      title="Backends"
      lead="Who answers behind edges: agents found by their labels, fixed answers and addresses, and groups of those."
      actions={all && all.length > 0 && create}
    >
      {error && <Failed error={error} retry={reload} />}
      {loading && <Loading />}
      {all?.length === 0 && (
        <Empty title="No backend yet" action={create}>
          An edge needs one to pass requests to. The usual first one is a tunnel group.
        </Empty>
      )}
      {rows && all && all.length > 0 && (
        <>
          <div className="tools">
            <Search label="Search backends" value={wanted} onValue={setWanted} />
          </div>
          <Table label="Backends" columns={columnsFor(value!)} rows={rows} keyOf={({ id }) => id} />
          {rows.length === 0 && <p className="quiet">None of them fits.</p>}
        </>
      )}
    </Page>
  )
}

function columnsFor(around: Surroundings): readonly Column<Backend>[] {
  const of = ({ id }: Backend) => answererOf(id, around, 0)
  return [
    {
      title: 'Backend',
      of: (backend) => <a href={hrefTo(`/backends/${backend.id}`)}>{of(backend).title}</a>,
    },
    { title: 'Kind', of: (backend) => KINDS[of(backend).kind!].title },
    { title: 'What it does', of: (backend) => of(backend).brief },
    { title: 'Now', kind: 'fit', of: (backend) => <State answerer={of(backend)} /> },
    { title: 'Created', kind: 'fit', of: ({ created_at }) => <Time at={created_at} /> },
  ]
}

function State({ answerer: { kind, ready, tunnels } }: { answerer: Answerer }) {
  if (!ready) return <Badge tone="warn">nobody online</Badge>
  return <Badge tone="good">{kind === 'tunnel_group' ? `${tunnels.length} online` : 'ready'}</Badge>
}

import { useState } from 'react'
import { api } from '../../api.ts'
import {
  Badge,
  Button,
  Card,
  Confirm,
  Dialog,
  Empty,
  Equivalent,
  Failed,
  Loading,
  Page,
  say,
  Table,
  Time,
} from '../../kit/index.ts'
import type { PageProps } from '../../pages.ts'
import { ItemFacts } from '../../resource/value-view.tsx'
import { go, hrefTo } from '../../route.ts'
import { useMayChange } from '../../session.ts'
import { CommandLine } from '../command-line.tsx'
import { listEdges } from '../edges/edges.ts'
import { AnswererTree } from '../edges/flow-diagram.tsx'
import { type Answerer, answererOf, type Surroundings } from '../edges/request-flow.ts'
import { useLoaded } from '../list-all.ts'
import { useLive, versionOf } from '../live.ts'
import { type Backend, backendKindOf } from '../resources.ts'
import { EditBackend } from './backend-form.tsx'
import { useSurroundings } from './flow-context.ts'
import { KINDS } from './kinds.ts'
import '../pages.css'

const BACK = { path: '/backends', title: 'Backends' }

/** One backend with all it passes requests on to, who uses it, and its tunnels as they come and go. */
export default function BackendPage({ params: { id = '' } }: PageProps) {
  const now = useLive().samples.at(-1)
  const around = useSurroundings(versionOf(now))
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const mayChange = useMayChange()
  const backend = around.value?.backends.get(id)
  const kind = backendKindOf(id)
  if (around.value === undefined || backend === undefined || kind === undefined)
    return (
      <Page title="Backend" back={BACK}>
        {around.error && <Failed error={around.error} retry={around.reload} />}
        {around.loading && <Loading />}
        {around.value && <Empty title="There is no such backend">It may have been deleted.</Empty>}
      </Page>
    )
  const answerer = answererOf(id, around.value, 0)
  const path = `/backends/${kind}/${id}`
  const close = () => setOpen(undefined)
  return (
    <Page
      title={answerer.title}
      lead={KINDS[kind].does}
      back={BACK}
      actions={
        mayChange && (
          <>
            <Button data-key="e" onClick={() => setOpen('edit')}>
              Edit
            </Button>
            <Button kind="danger" onClick={() => setOpen('delete')}>
              Delete
            </Button>
          </>
        )
      }
    >
      {kind === 'tunnel_group' ? (
        <TunnelList answerer={answerer} />
      ) : (
        (kind === 'weighted' || kind === 'failover') && (
          <Card title="Where requests go">
            <div className="way">
              <AnswererTree
                answerer={answerer}
                onOpen={(opening) => {
                  if (opening.what !== 'backend') return
                  if (opening.backendId === id) setOpen('edit')
                  else go(`/backends/${opening.backendId}`)
                }}
              />
            </div>
          </Card>
        )
      )}
      <UsedBy id={id} around={around.value} />
      <Card title="Details">
        {backend.labels && (
          <p>
            {Object.entries(backend.labels).map(([key, value]) => (
              <Badge key={key} tone="info">
                {key}={value}
              </Badge>
            ))}
          </p>
        )}
        <ItemFacts item={{ ...backend }} without={['tunnels', 'labels']} />
        <p className="quiet">
          <code>{id}</code>, created <Time at={backend.created_at} />
        </p>
      </Card>
      {open === 'edit' && (
        <Dialog title={`Edit ${answerer.title}`} onClose={close}>
          <EditBackend
            backend={backend}
            onCancel={close}
            onDone={() => {
              close()
              say('Saved.')
              around.reload()
            }}
          />
        </Dialog>
      )}
      {open === 'delete' && (
        <Confirm
          title={`Delete ${answerer.title}?`}
          verb="Delete"
          onClose={close}
          onConfirm={async () => {
            await api.delete(path)
            say('Deleted.')
            go('/backends', { replace: true })
          }}
        >
          <p>Routes and backends that use it have to be changed first.</p>
          <Equivalent method="DELETE" path={path} />
        </Confirm>
      )}
    </Page>
  )
}

function TunnelList({ answerer: { tunnels, joinWith } }: { answerer: Answerer }) {
  return (
    <Card
      title="Tunnels online"
      actions={<Badge tone={tunnels.length > 0 ? 'good' : 'warn'}>{tunnels.length} online</Badge>}
    >
      {tunnels.length > 0 && (
        <Table
          label="Tunnels online"
          rows={tunnels}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Forwards to',
              kind: 'mono',
              of: ({ forwards_to, tunnel_session }) => (
                <a href={hrefTo(`/agents/${tunnel_session.id}`)}>{forwards_to}</a>
              ),
            },
            {
              title: 'Labels',
              of: ({ labels }) =>
                Object.entries(labels ?? {})
                  .map(([key, value]) => `${key}=${value}`)
                  .join(', '),
            },
            { title: 'Online', kind: 'fit', of: ({ started_at }) => <Time at={started_at} /> },
          ]}
        />
      )}
      <p>{tunnels.length === 0 ? 'No agent has joined yet. Start one with:' : 'Another agent joins with:'}</p>
      {joinWith && <CommandLine text={joinWith} />}
    </Card>
  )
}

interface User {
  readonly key: string
  readonly to: string
  readonly words: string
}

/** Edges and backends that name it. */
function UsedBy({ id, around }: { id: string; around: Surroundings }) {
  const edges = useLoaded((signal) => listEdges(signal))
  const users: User[] = [
    ...(edges.value ?? []).flatMap((edge): User[] => {
      const name = edge.description || edge.hostports[0] || edge.id
      const to = `/edges/${edge.id}`
      const routes = edge.routes.filter(({ backend_id }) => backend_id === id)
      const itself = edge.backend_id === id ? [{ key: edge.id, to, words: `the edge ${name}` }] : []
      return [
        ...itself,
        ...routes.map((route) => ({ key: route.id, to, words: `the route ${route.match} of ${name}` })),
      ]
    }),
    ...[...around.backends.values()]
      .filter(({ backends = {} }: Backend) =>
        Array.isArray(backends) ? backends.includes(id) : Object.hasOwn(backends, id),
      )
      .map((backend) => ({
        key: backend.id,
        to: `/backends/${backend.id}`,
        words: `the backend ${answererOf(backend.id, around, 0).title}`,
      })),
  ]
  if (edges.value === undefined) return null
  return (
    <Card title="Used by">
      {users.length === 0 ? (
        <p className="quiet">Nobody yet. Choose it on a route of an edge.</p>
      ) : (
        <ul className="plain-list">
          {users.map(({ key, to, words }) => (
            <li key={key}>
              <a href={hrefTo(to)}>{words}</a>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

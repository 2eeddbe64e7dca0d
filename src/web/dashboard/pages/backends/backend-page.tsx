import { useState } from 'react'
import {
  Badge,
  Card,
  DeleteItem,
  Dialog,
  EmptyState,
  ItemActions,
  LoadStatus,
  notify,
  Page,
  Table,
  Time,
} from '../../kit/index.ts'
import type { PageProps } from '../../page-contracts.ts'
import { ItemFacts } from '../../resource/value-view.tsx'
import { go, hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { CommandLine } from '../command-line.tsx'
import { listEdgesWithBackend } from '../edges/edges.ts'
import { BackendTree } from '../edges/flow-diagram.tsx'
import { type BackendNode, type FlowContext, resolveBackend } from '../edges/request-flow.ts'
import { useLoad } from '../list-all.ts'
import { useLive, versionOf } from '../live.ts'
import type { Backend } from '../resources.ts'
import { EditBackend } from './backend-form.tsx'
import { useFlowContext } from './flow-context.ts'
import { BACKEND_KIND_TEXTS, backendKindOf } from './kinds.ts'
import '../pages.css'

const BACK = { path: '/backends', title: 'Backends' }

/** One backend: what it forwards requests to, what uses it, and its live tunnels. */
export default function BackendPage({ params: { id = '' } }: PageProps) {
  const latest = useLive().samples.at(-1)
  const loaded = useFlowContext(versionOf(latest))
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const mayChange = useCanChange()
  const backend = loaded.value?.backends.get(id)
  const kind = backendKindOf(id)
  if (loaded.value === undefined || backend === undefined || kind === undefined)
    return (
      <Page title="Backend" back={BACK}>
        <LoadStatus load={loaded} />
        {loaded.value && <EmptyState title="Backend not found">It may have been deleted.</EmptyState>}
      </Page>
    )
  const node = resolveBackend(id, loaded.value, 0)
  const path = `/backends/${kind}/${id}`
  const close = () => setOpen(undefined)
  return (
    <Page
      title={node.title}
      lead={BACKEND_KIND_TEXTS[kind].summary}
      back={BACK}
      actions={mayChange && <ItemActions onEdit={() => setOpen('edit')} onDelete={() => setOpen('delete')} />}
    >
      {kind === 'tunnel_group' ? (
        <TunnelList node={node} />
      ) : (
        (kind === 'weighted' || kind === 'failover') && (
          <Card title="Request distribution">
            <div className="flow">
              <BackendTree
                node={node}
                onOpen={(target) => {
                  if (target.kind !== 'backend') return
                  if (target.backendId === id) setOpen('edit')
                  else go(`/backends/${target.backendId}`)
                }}
              />
            </div>
          </Card>
        )
      )}
      <UsedBy id={id} context={loaded.value} />
      <Card title="Details">
        {backend.labels && (
          <p className="badges">
            {Object.entries(backend.labels).map(([key, value]) => (
              <Badge key={key} tone="info">
                {key}={value}
              </Badge>
            ))}
          </p>
        )}
        <ItemFacts
          item={{ ...backend }}
          without={['tunnels', 'labels', ...(node.children.length > 0 ? ['backends'] : [])]}
        />
        <p className="quiet">
          <code>{id}</code>, created <Time value={backend.created_at} />
        </p>
      </Card>
      {open === 'edit' && (
        <Dialog title={`Edit ${node.title}`} onClose={close}>
          <EditBackend
            backend={backend}
            onCancel={close}
            onDone={() => {
              close()
              notify('Saved.')
              loaded.reload()
            }}
          />
        </Dialog>
      )}
      {open === 'delete' && (
        <DeleteItem name={node.title} path={path} back={BACK.path} onClose={close}>
          Change the routes and backends that use it first.
        </DeleteItem>
      )}
    </Page>
  )
}

function TunnelList({ node: { tunnels, joinCommand } }: { node: BackendNode }) {
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
              render: ({ forwards_to, tunnel_session }) => (
                <a href={hrefTo(`/agents/${tunnel_session.id}`)}>{forwards_to}</a>
              ),
            },
            {
              title: 'Labels',
              render: ({ labels }) =>
                Object.entries(labels ?? {})
                  .map(([key, value]) => `${key}=${value}`)
                  .join(', '),
            },
            { title: 'Online', kind: 'fit', render: ({ started_at }) => <Time value={started_at} /> },
          ]}
        />
      )}
      <p>{tunnels.length === 0 ? 'No agent has joined yet. Start one with:' : 'Another agent joins with:'}</p>
      {joinCommand && <CommandLine text={joinCommand} />}
    </Card>
  )
}

interface Referrer {
  readonly key: string
  readonly to: string
  readonly label: string
}

/** The edges and backends that refer to it. */
function UsedBy({ id, context }: { id: string; context: FlowContext }) {
  const edges = useLoad((signal) => listEdgesWithBackend(id, signal), { key: id })
  const referrers: Referrer[] = [
    ...(edges.value ?? []).flatMap((edge): Referrer[] => {
      const name = edge.description || edge.hostports[0] || edge.id
      const to = `/edges/${edge.id}`
      const routes = edge.routes.filter(({ backend_id }) => backend_id === id)
      const direct = edge.backend_id === id ? [{ key: edge.id, to, label: `the edge ${name}` }] : []
      return [
        ...direct,
        ...routes.map((route) => ({ key: route.id, to, label: `the route ${route.match} of ${name}` })),
      ]
    }),
    ...[...context.backends.values()]
      .filter(({ backends = {} }: Backend) =>
        Array.isArray(backends) ? backends.includes(id) : Object.hasOwn(backends, id),
      )
      .map((backend) => ({
        key: backend.id,
        to: `/backends/${backend.id}`,
        label: `the backend ${resolveBackend(backend.id, context, 0).title}`,
      })),
  ]
  if (edges.value === undefined) return null
  return (
    <Card title="Used by">
      {referrers.length === 0 ? (
        <p className="quiet">Not used yet. Choose it on a route of an edge.</p>
      ) : (
        <ul className="plain-list">
          {referrers.map(({ key, to, label }) => (
            <li key={key}>
              <a href={hrefTo(to)}>{label}</a>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

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
import { type BackendNode, resolveBackend } from '../edges/request-flow.ts'
import { useLive, versionOf } from '../live.ts'
import { useLoad } from '../use-load.ts'
import { EditBackend } from './backend-form.tsx'
import { listBackends, useBackend, useBackendTrees } from './backends.ts'
import { BACKEND_KIND_TEXTS, backendKindOf } from './kinds.ts'
import '../pages.css'

const BACK = { path: '/backends', title: 'Backends' }

/** One backend: what it forwards requests to, what uses it, and its live tunnels. */
export default function BackendPage({ params: { id = '' } }: PageProps) {
  const latest = useLive().samples.at(-1)
  const backend = useBackend(id, versionOf(latest))
  const trees = useBackendTrees([id], versionOf(latest))
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const mayChange = useCanChange()
  const kind = backendKindOf(id)
  const isMissing = kind === undefined || backend.error?.status === 404
  if (isMissing || trees.value === undefined || backend.value === undefined)
    return (
      <Page title="Backend" back={BACK}>
        {isMissing ? (
          <EmptyState title="Backend not found">It may have been deleted.</EmptyState>
        ) : (
          <LoadStatus load={backend.error ? backend : trees} />
        )}
      </Page>
    )
  const node = resolveBackend(id, trees.value, 0)
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
      <UsedBy id={id} version={versionOf(latest)} />
      <Card title="Details">
        {backend.value.labels && (
          <p className="badges">
            {Object.entries(backend.value.labels).map(([key, value]) => (
              <Badge key={key} tone="info">
                {key}={value}
              </Badge>
            ))}
          </p>
        )}
        <ItemFacts
          item={{ ...backend.value }}
          without={['tunnels', 'labels', ...(node.children.length > 0 ? ['backends'] : [])]}
        />
        <p className="quiet">
          <code>{id}</code>, created <Time value={backend.value.created_at} />
        </p>
      </Card>
      {open === 'edit' && (
        <Dialog title={`Edit ${node.title}`} onClose={close}>
          <EditBackend
            backend={backend.value}
            onCancel={close}
            onDone={() => {
              close()
              notify('Saved.')
              backend.reload()
              trees.reload()
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

function TunnelList({ node: { online, tunnels, joinCommand } }: { node: BackendNode }) {
  return (
    <Card title="Tunnels online" actions={<Badge tone={online > 0 ? 'good' : 'warn'}>{online} online</Badge>}>
      {tunnels.length > 0 && (
        <Table
          label="Tunnels online"
          rows={tunnels}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Forwards to',
              kind: 'mono',
              render: ({ forwards_to, tunnel_session_id }) => (
                <a href={hrefTo(`/agents/${tunnel_session_id}`)}>{forwards_to}</a>
              ),
            },
            {
              title: 'Labels',
              render: ({ labels }) =>
                Object.entries(labels)
                  .map(([key, value]) => `${key}=${value}`)
                  .join(', '),
            },
            { title: 'Online', kind: 'fit', render: ({ started_at }) => <Time value={started_at} /> },
          ]}
        />
      )}
      {online > tunnels.length && <p className="quiet">The first {tunnels.length} are listed.</p>}
      <p>{online === 0 ? 'No agent has joined yet. Start one with:' : 'Another agent joins with:'}</p>
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
function UsedBy({ id, version }: { id: string; version: string }) {
  const edges = useLoad((signal) => listEdgesWithBackend(id, signal), { key: `${version} ${id}` })
  const parents = useLoad((signal) => listBackends({ child: id }, signal), { key: `${version} ${id}` })
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
    ...(parents.value?.ids ?? []).map((parentId) => ({
      key: parentId,
      to: `/backends/${parentId}`,
      label: `the backend ${resolveBackend(parentId, parents.value!.context, 0).title}`,
    })),
  ]
  const others = (parents.value?.matching ?? 0) - (parents.value?.ids.length ?? 0)
  if (edges.value === undefined || parents.value === undefined) return null
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
          {others > 0 && <li>and {others.toLocaleString('en')} more backends</li>}
        </ul>
      )}
    </Card>
  )
}

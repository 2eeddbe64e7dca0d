import { useState } from 'react'
import type { BackendModule } from '../../../../api-client/index.ts'
import { api } from '../../api.ts'
import {
  Card,
  DeleteItem,
  Dialog,
  EmptyState,
  Facts,
  ItemActions,
  LoadStatus,
  Notice,
  Page,
  Time,
} from '../../kit/index.ts'
import type { PageProps } from '../../page-contracts.ts'
import { ValueView } from '../../resource/value-view.tsx'
import { useCanChange } from '../../session.ts'
import { useBackendTrees } from '../backends/backends.ts'
import { KIND_ORDER } from '../backends/kinds.ts'
import { FailedSignIns } from '../failed-sign-ins.tsx'
import { type Live, ratesOf, useLive, versionOf } from '../live.ts'
import { httpsUrlOf, usePlatform } from '../platform.ts'
import type { Edge, EdgeKind, ModuleSettings, PageRoute } from '../resources.ts'
import { useLoad } from '../use-load.ts'
import { ChooseBackendDialog, EditBackendDialog } from './backend-dialog.tsx'
import { EdgeForm } from './edge-form.tsx'
import { edgeKindOf, hostOf } from './edges.ts'
import { nameOf } from './edges-page.tsx'
import { FlowDiagram, type ScopeRate } from './flow-diagram.tsx'
import { AddModuleDialog, ModuleDialog } from './module-dialog.tsx'
import { EDGE_MODULES, type ModuleName, ROUTE_MODULES } from './modules.ts'
import { buildRequestFlow, type EditTarget, type FlowContext } from './request-flow.ts'
import { RouteDialog } from './route-dialog.tsx'
import '../backends/backends.css'
import '../pages.css'
import './edges.css'

const BACK = { path: '/edges', title: 'Edges' }

type OpenDialog =
  | EditTarget
  | { readonly kind: 'add'; readonly routeId: string | undefined }
  | { readonly kind: 'new_route' }
  | { readonly kind: 'delete' }

/** One edge, drawn as the path of its requests; each node opens the form that edits it. */
export default function EdgePage({ params: { id = '' } }: PageProps) {
  const kind = edgeKindOf(id)
  if (kind === undefined)
    return (
      <Page title="Edge" back={BACK}>
        <EmptyState title="Edge not found">It may have been deleted.</EmptyState>
      </Page>
    )
  return <EdgeView kind={kind} id={id} />
}

function EdgeView({ kind, id }: { kind: EdgeKind; id: string }) {
  const path = `/edges/${kind}/${encodeURIComponent(id)}`
  const live = useLive(id)
  const latest = live.samples.at(-1)
  // The audit log records each read of an edge with secrets, so the page reads it only when it has changed.
  const ready = latest !== undefined || live.state === 'lost'
  const edge = useLoad((signal) => api.get<Edge>(path, signal), {
    key: `${latest?.revision} ${latest?.scopes?.map(({ id }) => id)}`,
    skip: !ready,
  })
  const loadedContext = useBackendTrees(edge.value && backendIdsOf(edge.value), versionOf(latest))
  const [open, setOpen] = useState<OpenDialog>()
  const mayChange = useCanChange()
  if (edge.value === undefined || loadedContext.value === undefined)
    return (
      <Page title="Edge" back={BACK}>
        <LoadStatus load={edge.error ? edge : loadedContext} />
      </Page>
    )
  const { value } = edge
  const context = { ...loadedContext.value, ...(latest?.broken && { broken: latest.broken }) }
  const flow = buildRequestFlow(kind, value, context)
  const done = () => {
    setOpen(undefined)
    edge.reload()
    loadedContext.reload()
  }
  return (
    <Page
      title={nameOf(value)}
      lead={<Addresses kind={kind} edge={value} />}
      back={BACK}
      actions={
        mayChange && (
          <ItemActions
            onEdit={() => setOpen({ kind: 'edge' })}
            onDelete={() => setOpen({ kind: 'delete' })}
          />
        )
      }
    >
      {latest?.broken?.map((entry) => (
        <Notice key={entry.id + entry.module} kind="bad">
          All traffic {entry.id === id ? 'to this edge' : `on the route ${matchOf(value, entry.id)}`} is
          rejected: {entry.reason} ({entry.module}).
        </Notice>
      ))}
      <Card title="Request path">
        <FlowDiagram
          flow={flow}
          rateOf={(routeId) => scopeRate(live, routeId ?? id)}
          onOpen={setOpen}
          {...(mayChange && {
            onAdd: (routeId: string | undefined) => setOpen({ kind: 'add', routeId }),
            onAddRoute: () => setOpen({ kind: 'new_route' }),
            onChoose: (routeId: string | undefined) => setOpen({ kind: 'choose_backend', routeId }),
          })}
        />
      </Card>
      {value.routes && (
        <FailedSignIns isShown={({ route_id }) => value.routes!.some((route) => route.id === route_id)} />
      )}
      <Card title="Details">
        <Facts
          entries={[
            [
              'Metadata',
              value.metadata && <ValueView key="metadata" name="metadata" value={value.metadata} />,
            ],
            ['Created', <Time key="at" value={value.created_at} exact />],
            ['ID', <code key="id">{value.id}</code>],
          ]}
        />
      </Card>
      {open && (
        <EdgeDialogs
          open={open}
          setOpen={setOpen}
          kind={kind}
          edge={value}
          context={context}
          mayChange={mayChange}
          done={done}
        />
      )}
    </Page>
  )
}

/** The backends that the edge and its routes send traffic to. */
function backendIdsOf({ backend, routes = [] }: Edge): string[] {
  const selections = [backend, ...routes.map((route) => route.backend as BackendModule | null | undefined)]
  return selections.flatMap((selection) => selection?.backend.id ?? [])
}

function matchOf({ routes = [] }: Edge, routeId: string): string {
  return routes.find(({ id }) => id === routeId)?.match ?? routeId
}

/** The requests of an edge or route, or the connections of one without HTTP, and their recent rate. */
function scopeRate({ samples }: Live, scopeId: string): ScopeRate | undefined {
  const total = (sample: Live['samples'][number]) => {
    const counters = sample.scopes?.find(({ id }) => id === scopeId)
    return counters ? counters.requests + counters.connections : 0
  }
  const last = samples.at(-1)
  if (!last) return undefined
  const recent = ratesOf(samples.slice(-4), total)
  const perSecond = recent.length === 0 ? 0 : recent.reduce((sum, rate) => sum + rate, 0) / recent.length
  const isHttp = (last.scopes?.find(({ id }) => id === scopeId)?.requests ?? 0) > 0
  return { perSecond, total: total(last), unit: isHttp ? 'request' : 'connection' }
}

function Addresses({ kind, edge }: { kind: EdgeKind; edge: Edge }) {
  const platform = usePlatform()
  const hostports = edge.hostports ?? []
  if (kind !== 'https') return hostports.join(', ')
  return hostports.map((hostport) => {
    const url = httpsUrlOf(hostOf(hostport), platform)
    return hostport.startsWith('*.') ? (
      <span key={hostport}>{hostOf(hostport)} </span>
    ) : (
      <a key={hostport} className="edge-url" href={url} target="_blank" rel="noreferrer">
        {url}
      </a>
    )
  })
}

/** The dialog for the current edit target. */
function EdgeDialogs({
  open,
  setOpen,
  kind,
  edge,
  context,
  mayChange,
  done,
}: {
  open: OpenDialog
  setOpen: (open: OpenDialog | undefined) => void
  kind: EdgeKind
  edge: Edge
  context: FlowContext
  mayChange: boolean
  done: () => void
}) {
  const path = `/edges/${kind}/${edge.id}`
  const onClose = () => setOpen(undefined)
  const common = { mayChange, onClose, onDone: done }
  const routeOf = (routeId: string | undefined) => edge.routes?.find(({ id }) => id === routeId)
  const scopeOf = (routeId: string | undefined): Edge | PageRoute => routeOf(routeId) ?? edge
  const scopePath = (routeId: string | undefined) =>
    routeId === undefined ? path : `${path}/routes/${routeId}`

  switch (open.kind) {
    case 'edge':
      return (
        <Dialog title="Edit edge" onClose={onClose}>
          {mayChange ? (
            <EdgeForm kind={kind} edge={edge} onDone={done} onCancel={onClose} />
          ) : (
            <Notice>You can view this, but your role does not let you change it.</Notice>
          )}
        </Dialog>
      )
    case 'route':
      return <RouteDialog edgePath={path} route={routeOf(open.routeId)} {...common} />
    case 'new_route':
      return <RouteDialog edgePath={path} route={undefined} {...common} />
    case 'add': {
      const scope = scopeOf(open.routeId)
      return (
        <AddModuleDialog
          names={open.routeId === undefined ? EDGE_MODULES[kind] : ROUTE_MODULES}
          isPresent={(name: ModuleName) => Boolean(scope[name])}
          onPick={(module) => setOpen({ kind: 'module', routeId: open.routeId, module })}
          onClose={onClose}
        />
      )
    }
    case 'module': {
      const settings = scopeOf(open.routeId)[open.module] as ModuleSettings | null | undefined
      return (
        <ModuleDialog
          scopePath={scopePath(open.routeId)}
          module={open.module}
          settings={settings ?? undefined}
          {...common}
        />
      )
    }
    case 'choose_backend':
      return (
        <ChooseBackendDialog
          scopePath={scopePath(open.routeId)}
          current={scopeOf(open.routeId).backend as BackendModule | null | undefined}
          kinds={kind === 'https' ? KIND_ORDER : KIND_ORDER.filter((each) => each !== 'http_response')}
          onClose={onClose}
          onDone={done}
        />
      )
    case 'backend':
      return <EditBackendDialog backendId={open.backendId} context={context} {...common} />
    case 'delete':
      return (
        <DeleteItem name={nameOf(edge)} path={path} back={BACK.path} onClose={onClose}>
          Its host names stop responding, and its routes and modules are deleted. Domains and backends are
          kept.
        </DeleteItem>
      )
  }
}

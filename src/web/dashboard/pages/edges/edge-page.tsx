import { useState } from 'react'
import { api } from '../../api.ts'
import {
  Button,
  Card,
  Confirm,
  Dialog,
  Empty,
  Equivalent,
  Facts,
  Failed,
  Loading,
  Notice,
  Page,
  say,
  Time,
} from '../../kit/index.ts'
import type { PageProps } from '../../pages.ts'
import { go } from '../../route.ts'
import { useMayChange } from '../../session.ts'
import { useSurroundings } from '../backends/flow-context.ts'
import { KIND_ORDER } from '../backends/kinds.ts'
import { useLoaded } from '../list-all.ts'
import { type Live, ratesOf, useLive, versionOf } from '../live.ts'
import { httpsUrlOf, usePlatform } from '../platform.ts'
import type { BackendModule, Edge, EdgeKind, ModuleSettings, Route } from '../resources.ts'
import { ChooseBackendDialog, EditBackendDialog } from './backend-dialog.tsx'
import { EdgeForm } from './edge-form.tsx'
import { edgeKindOf, hostOf } from './edges.ts'
import { nameOf } from './edges-page.tsx'
import { type PlaceRate, WayPicture } from './flow-diagram.tsx'
import { AddModuleDialog, ModuleDialog } from './module-dialog.tsx'
import { EDGE_MODULES, type ModuleName, ROUTE_MODULES } from './modules.ts'
import { type Opening, type Surroundings, wayOf } from './request-flow.ts'
import { RouteDialog } from './route-dialog.tsx'
import '../backends/backends.css'
import '../pages.css'
import './edges.css'

const BACK = { path: '/edges', title: 'Edges' }

type Open =
  | Opening
  | { readonly what: 'add'; readonly routeId: string | undefined }
  | { readonly what: 'new_route' }
  | { readonly what: 'delete' }

/** One edge as a picture of the way requests take, every part of which opens the form that changes it. */
export default function EdgePage({ params: { id = '' } }: PageProps) {
  const kind = edgeKindOf(id)
  if (kind === undefined)
    return (
      <Page title="Edge" back={BACK}>
        <Empty title="There is no such edge">It may have been deleted.</Empty>
      </Page>
    )
  return <KnownEdge kind={kind} id={id} />
}

function KnownEdge({ kind, id }: { kind: EdgeKind; id: string }) {
  const path = `/edges/${kind}/${encodeURIComponent(id)}`
  const live = useLive(id)
  const now = live.samples.at(-1)
  // Each look at an edge with secrets is recorded, so it is read when it has changed and not all the time.
  const ready = now !== undefined || live.state === 'lost'
  const edge = useLoaded((signal) => api.get<Edge>(path, signal), {
    key: `${now?.revision} ${now?.places?.map((place) => place.id)}`,
    skip: !ready,
  })
  const around = useSurroundings(versionOf(now))
  const [open, setOpen] = useState<Open>()
  const mayChange = useMayChange()
  if (edge.value === undefined || around.value === undefined)
    return (
      <Page title="Edge" back={BACK}>
        {(edge.error ?? around.error) ? (
          <Failed error={(edge.error ?? around.error)!} retry={edge.reload} />
        ) : (
          <Loading />
        )}
      </Page>
    )
  const { value } = edge
  const surroundings = { ...around.value, ...(now?.broken && { broken: now.broken }) }
  const way = wayOf(kind, value, surroundings)
  const done = () => {
    setOpen(undefined)
    edge.reload()
    around.reload()
  }
  return (
    <Page
      title={nameOf(value)}
      lead={<Addresses kind={kind} edge={value} />}
      back={BACK}
      actions={
        mayChange && (
          <>
            <Button data-key="e" onClick={() => setOpen({ what: 'edge' })}>
              Edit
            </Button>
            <Button kind="danger" onClick={() => setOpen({ what: 'delete' })}>
              Delete
            </Button>
          </>
        )
      }
    >
      {now?.broken?.map((broken) => (
        <Notice key={broken.id + broken.module} kind="bad">
          Nobody is let in {broken.id === id ? 'at this edge' : `on the route ${matchOf(value, broken.id)}`}:{' '}
          {broken.reason} ({broken.module}).
        </Notice>
      ))}
      <Card title="The way of a request">
        <WayPicture
          way={way}
          rateOf={(routeId) => rateAt(live, routeId ?? id)}
          onOpen={setOpen}
          {...(mayChange && {
            onAdd: (routeId: string | undefined) => setOpen({ what: 'add', routeId }),
            onAddRoute: () => setOpen({ what: 'new_route' }),
          })}
        />
      </Card>
      <Card title="Details">
        <Facts
          entries={[
            ['Metadata', value.metadata],
            ['Created', <Time key="at" at={value.created_at} exact />],
            ['Id', <code key="id">{value.id}</code>],
          ]}
        />
      </Card>
      {open && (
        <Forms
          open={open}
          setOpen={setOpen}
          kind={kind}
          edge={value}
          around={surroundings}
          mayChange={mayChange}
          done={done}
        />
      )}
    </Page>
  )
}

function matchOf({ routes = [] }: Edge, routeId: string): string {
  return routes.find(({ id }) => id === routeId)?.match ?? routeId
}

/** What a place has counted, and how much a second of late. */
function rateAt({ samples }: Live, placeId: string): PlaceRate | undefined {
  const total = (sample: Live['samples'][number]) => {
    const place = sample.places?.find(({ id }) => id === placeId)
    return place ? place.requests + place.connections : 0
  }
  const last = samples.at(-1)
  if (!last) return undefined
  const recent = ratesOf(samples.slice(-4), total)
  const perSecond = recent.length === 0 ? 0 : recent.reduce((sum, rate) => sum + rate, 0) / recent.length
  return { perSecond, total: total(last) }
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

/** The form that belongs to what was opened. */
function Forms({
  open,
  setOpen,
  kind,
  edge,
  around,
  mayChange,
  done,
}: {
  open: Open
  setOpen: (open: Open | undefined) => void
  kind: EdgeKind
  edge: Edge
  around: Surroundings
  mayChange: boolean
  done: () => void
}) {
  const path = `/edges/${kind}/${edge.id}`
  const onClose = () => setOpen(undefined)
  const common = { mayChange, onClose, onDone: done }
  const routeOf = (routeId: string | undefined) => edge.routes?.find(({ id }) => id === routeId)
  const placeOf = (routeId: string | undefined): Edge | Route => routeOf(routeId) ?? edge
  const placePath = (routeId: string | undefined) =>
    routeId === undefined ? path : `${path}/routes/${routeId}`

  switch (open.what) {
    case 'edge':
      return (
        <Dialog title="Edit edge" onClose={onClose}>
          {mayChange ? (
            <EdgeForm kind={kind} edge={edge} onDone={done} onCancel={onClose} />
          ) : (
            <Notice>You may look at this, but your role does not let you change it.</Notice>
          )}
        </Dialog>
      )
    case 'route':
      return <RouteDialog edgePath={path} route={routeOf(open.routeId)} {...common} />
    case 'new_route':
      return <RouteDialog edgePath={path} route={undefined} {...common} />
    case 'add': {
      const place = placeOf(open.routeId)
      return (
        <AddModuleDialog
          names={open.routeId === undefined ? EDGE_MODULES[kind] : ROUTE_MODULES}
          has={(name: ModuleName) => Boolean(place[name])}
          onPick={(module) => setOpen({ what: 'module', routeId: open.routeId, module })}
          onClose={onClose}
        />
      )
    }
    case 'module': {
      const settings = placeOf(open.routeId)[open.module] as ModuleSettings | null | undefined
      return (
        <ModuleDialog
          placePath={placePath(open.routeId)}
          module={open.module}
          settings={settings ?? undefined}
          {...common}
        />
      )
    }
    case 'choose_backend':
      return (
        <ChooseBackendDialog
          placePath={placePath(open.routeId)}
          current={placeOf(open.routeId).backend as BackendModule | null | undefined}
          around={around}
          kinds={kind === 'https' ? KIND_ORDER : KIND_ORDER.filter((each) => each !== 'http_response')}
          onClose={onClose}
          onDone={done}
        />
      )
    case 'backend': {
      const backend = around.backends.get(open.backendId)
      return backend ? <EditBackendDialog backend={backend} around={around} {...common} /> : null
    }
    case 'delete':
      return (
        <Confirm
          title={`Delete ${nameOf(edge)}?`}
          verb="Delete"
          onClose={onClose}
          onConfirm={async () => {
            await api.delete(path)
            say('Deleted.')
            go('/edges', { replace: true })
          }}
        >
          <p>Its names answer no more, with all its routes and modules. Domains and backends stay.</p>
          <Equivalent method="DELETE" path={path} />
        </Confirm>
      )
  }
}

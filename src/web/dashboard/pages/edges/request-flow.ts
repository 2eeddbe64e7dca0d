import {
  type Backend,
  type BackendKind,
  type BackendModule,
  backendKindOf,
  type Edge,
  type EdgeKind,
  type ModuleSettings,
  type Route,
  type Tunnel,
} from '../resources.ts'
import { briefOf, EDGE_MODULES, MODULES, type ModuleName, ROUTE_MODULES } from './modules.ts'

/** What can be opened for editing in the picture. */
export type Opening =
  | { readonly what: 'edge' }
  | { readonly what: 'route'; readonly routeId: string }
  | { readonly what: 'module'; readonly routeId: string | undefined; readonly module: ModuleName }
  | { readonly what: 'backend'; readonly backendId: string }
  | { readonly what: 'choose_backend'; readonly routeId: string | undefined }

export type StopState = 'on' | 'off' | 'broken'

/** One station on the way of a request. */
export interface Stop {
  readonly module: ModuleName
  readonly title: string
  readonly brief: string
  readonly does: string
  readonly state: StopState
  /** Why nobody gets past it. */
  readonly why: string | undefined
  readonly opens: Opening
}

/** Who answers, with those it passes requests on to. */
export interface Answerer {
  readonly id: string
  readonly kind: BackendKind | undefined
  readonly title: string
  readonly brief: string
  /** Whether anybody would answer now. */
  readonly ready: boolean
  readonly branches: readonly Branch[]
  /** The tunnels online of a tunnel group. */
  readonly tunnels: readonly Tunnel[]
  /** What an agent has to be started with to join a tunnel group. */
  readonly joinWith: string | undefined
}

export interface Branch {
  /** `75 %` or `1st`. */
  readonly label: string
  /** The part of all requests, from 0 to 1; only for shares. */
  readonly share: number | undefined
  readonly answerer: Answerer
}

/** One path through the edge, from the route on. */
export interface Lane {
  readonly routeId: string | undefined
  /** The paths that come this way; undefined where an edge has no routes. */
  readonly match: { readonly text: string; readonly exact: boolean } | undefined
  readonly description: string
  readonly stops: readonly Stop[]
  readonly answerer: Answerer | undefined
  /** False when the backend is chosen but switched off. */
  readonly answererOn: boolean
}

/** The way of a request through an edge. */
export interface Way {
  readonly kind: EdgeKind
  readonly entrances: readonly string[]
  /** What happens before a path is looked at. */
  readonly stops: readonly Stop[]
  readonly lanes: readonly Lane[]
}

/** A place on the edge where nobody is let in. */
export interface BrokenPlace {
  readonly id: string
  readonly module: string
  readonly reason: string
}

/** What the edge points at. */
export interface Surroundings {
  readonly backends: ReadonlyMap<string, Backend>
  readonly tunnels: ReadonlyMap<string, Tunnel>
  readonly broken?: readonly BrokenPlace[]
}

// As deep as the edge itself follows backends.
const MAX_DEPTH = 8

/** Works out the way from the edge and what it points at. */
export function wayOf(kind: EdgeKind, edge: Edge, around: Surroundings): Way {
  const stopsOf = (place: Edge | Route, names: readonly ModuleName[], routeId: string | undefined): Stop[] =>
    names.flatMap((module) => {
      const settings = place[module] as ModuleSettings | null | undefined
      if (!settings) return []
      const why = around.broken?.find((broken) => broken.id === place.id && broken.module === module)?.reason
      const state = !settings.enabled ? 'off' : why === undefined ? 'on' : 'broken'
      const { title, does } = MODULES[module]
      const opens = { what: 'module', routeId, module } as const
      return [{ module, title, does, brief: briefOf(module, settings), state, why, opens }]
    })
  const lane = (place: Edge | Route, routeId: string | undefined, stops: readonly Stop[]): Lane => {
    const chosen = place.backend as BackendModule | null | undefined
    return {
      routeId,
      match: undefined,
      description: place.description,
      stops,
      answerer: chosen ? answererOf(chosen.backend.id, around, 0) : undefined,
      answererOn: chosen?.enabled === true,
    }
  }
  const before = stopsOf(edge, EDGE_MODULES[kind], undefined)
  const entrances = edge.hostports ?? []
  if (kind !== 'https') return { kind, entrances, stops: before, lanes: [lane(edge, undefined, [])] }
  const lanes = [...(edge.routes ?? [])].sort(byPrecedence).map((route) => ({
    ...lane(route, route.id, stopsOf(route, ROUTE_MODULES, route.id)),
    match: { text: route.match, exact: route.match_type === 'exact_path' },
  }))
  return { kind, entrances, stops: before, lanes }
}

/** In the order in which routes are tried: exact ones, then longer prefixes before shorter ones. */
function byPrecedence(one: Route, other: Route): number {
  const exact = (route: Route) => (route.match_type === 'exact_path' ? 0 : 1)
  return (
    exact(one) - exact(other) || other.match.length - one.match.length || (one.match < other.match ? -1 : 1)
  )
}

/** The tree below a backend. */
export function answererOf(id: string, around: Surroundings, depth: number): Answerer {
  const backend = around.backends.get(id)
  const kind = backendKindOf(id)
  const none = { id, kind, branches: [], tunnels: [], joinWith: undefined }
  if (backend === undefined || depth > MAX_DEPTH)
    return { ...none, title: 'Missing backend', brief: id, ready: false }
  const named = (title: string) => backend.description || title
  switch (kind) {
    case 'http_response':
      return {
        ...none,
        title: named('Fixed answer'),
        brief: `answers ${backend.status_code} with ${sizeOf(backend.body ?? '')}`,
        ready: true,
      }
    case 'static':
      return {
        ...none,
        title: named('Fixed address'),
        brief: `${backend.address}${backend.tls?.enabled ? ' over TLS' : ''}`,
        ready: true,
      }
    case 'tunnel_group': {
      const tunnels = (backend.tunnels ?? []).flatMap((ref) => around.tunnels.get(ref.id) ?? [])
      const labels = Object.entries(backend.labels ?? {}).map(([key, value]) => `${key}=${value}`)
      return {
        ...none,
        title: named('Tunnel group'),
        brief: labels.join(', '),
        ready: (backend.tunnels ?? []).length > 0,
        tunnels,
        joinWith: `adit tunnel ${labels.map((label) => `--label ${label} `).join('')}3000`,
      }
    }
    case 'weighted': {
      const weights = Object.entries((backend.backends ?? {}) as Record<string, number>)
      const all = weights.reduce((sum, [, weight]) => sum + weight, 0)
      const branches = weights
        .sort(([, one], [, other]) => other - one)
        .map(([child, weight]) => ({
          label: percent(all === 0 ? 0 : weight / all),
          share: all === 0 ? 0 : weight / all,
          answerer: answererOf(child, around, depth + 1),
        }))
      return {
        ...none,
        title: named('Weighted'),
        brief: 'shared by weight',
        branches,
        ready: branches.some(({ share, answerer }) => share > 0 && answerer.ready),
      }
    }
    case 'failover': {
      const branches = ((backend.backends ?? []) as readonly string[]).map((child, index) => ({
        label: ordinal(index + 1),
        share: undefined,
        answerer: answererOf(child, around, depth + 1),
      }))
      return {
        ...none,
        title: named('Failover'),
        brief: 'the first that can be reached',
        branches,
        ready: branches.some(({ answerer }) => answerer.ready),
      }
    }
    default:
      return { ...none, title: 'Missing backend', brief: id, ready: false }
  }
}

function sizeOf(body: string): string {
  if (body === '') return 'an empty body'
  const { length } = new TextEncoder().encode(body)
  if (length === 1) return 'one byte'
  return length < 1000 ? `${length} bytes` : `${(length / 1000).toFixed(1)} kB`
}

function percent(share: number): string {
  const whole = share * 100
  return `${Number.isInteger(whole) ? whole : whole.toFixed(whole < 10 ? 1 : 0)} %`
}

function ordinal(place: number): string {
  const ending = place % 100 > 10 && place % 100 < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][place % 10] ?? 'th')
  return `${place}${ending}`
}

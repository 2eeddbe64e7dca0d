import type { BackendModule } from '../../../../api-client/index.ts'
import type { BackendListing, BackendTunnel } from '../../../../dashboard/page-data.ts'
import { BACKEND_KIND_TEXTS, type BackendKind, backendKindOf } from '../backends/kinds.ts'
import type { Edge, EdgeKind, ModuleSettings, PageRoute } from '../resources.ts'
import { EDGE_MODULES, MODULES, type ModuleName, ROUTE_MODULES, summarizeModule } from './modules.ts'

/** What a click in the diagram opens for editing. */
export type EditTarget =
  | { readonly kind: 'edge' }
  | { readonly kind: 'route'; readonly routeId: string }
  | { readonly kind: 'module'; readonly routeId: string | undefined; readonly module: ModuleName }
  | { readonly kind: 'backend'; readonly backendId: string }
  | { readonly kind: 'choose_backend'; readonly routeId: string | undefined }

export type StepState = 'on' | 'off' | 'broken'

/** One module in the path of a request. */
export interface FlowStep {
  readonly module: ModuleName
  readonly title: string
  readonly summary: string
  readonly action: string
  readonly state: StepState
  /** Why the module rejects all traffic; set when `state` is `broken`. */
  readonly reason: string | undefined
  readonly target: EditTarget
}

/** A backend and the backends it forwards requests to. */
export interface BackendNode {
  readonly id: string
  readonly kind: BackendKind | undefined
  readonly title: string
  readonly summary: string
  /** Whether a request would be served now. */
  readonly ready: boolean
  readonly children: readonly BackendChild[]
  /** How many tunnels of a tunnel group are online, and the first of them. */
  readonly online: number
  readonly tunnels: readonly BackendTunnel[]
  /** The command that joins an agent to a tunnel group. */
  readonly joinCommand: string | undefined
}

/** An edge of the backend tree: a child with its weight or position. */
export interface BackendChild {
  /** `75 %` or `1st`. */
  readonly label: string
  /** The share of requests, from 0 to 1; undefined for a failover position. */
  readonly share: number | undefined
  readonly node: BackendNode
}

/** The part of the flow behind one route; TLS and TCP edges have a single branch. */
export interface FlowBranch {
  readonly routeId: string | undefined
  /** The paths the route matches; undefined for edges without routes. */
  readonly match: { readonly text: string; readonly exact: boolean } | undefined
  readonly description: string
  readonly steps: readonly FlowStep[]
  readonly backend: BackendNode | undefined
  /** False when a backend is selected but switched off. */
  readonly backendEnabled: boolean
}

/** The path of a request through an edge. */
export interface RequestFlow {
  readonly kind: EdgeKind
  readonly hostports: readonly string[]
  /** Edge modules, which run before routing. */
  readonly steps: readonly FlowStep[]
  readonly branches: readonly FlowBranch[]
}

/** A module that cannot run, so its edge or route rejects all traffic. */
export interface BrokenModule {
  readonly id: string
  readonly module: string
  readonly reason: string
}

/** The records an edge refers to. */
export interface FlowContext {
  readonly backends: ReadonlyMap<string, BackendListing>
  readonly broken?: readonly BrokenModule[]
}

// The nesting depth up to which the edge itself follows backends.
const MAX_DEPTH = 8

/** Builds the flow of an edge from its configuration and the records it refers to. */
export function buildRequestFlow(kind: EdgeKind, edge: Edge, context: FlowContext): RequestFlow {
  const stepsOf = (
    scope: Edge | PageRoute,
    names: readonly ModuleName[],
    routeId: string | undefined,
  ): FlowStep[] =>
    names.flatMap((module) => {
      const settings = scope[module] as ModuleSettings | null | undefined
      if (!settings) return []
      const reason = context.broken?.find((entry) => entry.id === scope.id && entry.module === module)?.reason
      const state = !settings.enabled ? 'off' : reason === undefined ? 'on' : 'broken'
      const { title, action } = MODULES[module]
      const target = { kind: 'module', routeId, module } as const
      return [{ module, title, action, summary: summarizeModule(module, settings), state, reason, target }]
    })
  const branchOf = (
    scope: Edge | PageRoute,
    routeId: string | undefined,
    steps: readonly FlowStep[],
  ): FlowBranch => {
    const selection = scope.backend as BackendModule | null | undefined
    return {
      routeId,
      match: undefined,
      description: scope.description,
      steps,
      backend: selection ? resolveBackend(selection.backend.id, context, 0) : undefined,
      backendEnabled: selection?.enabled === true,
    }
  }
  const edgeSteps = stepsOf(edge, EDGE_MODULES[kind], undefined)
  const hostports = edge.hostports ?? []
  if (kind !== 'https')
    return { kind, hostports, steps: edgeSteps, branches: [branchOf(edge, undefined, [])] }
  const branches = [...(edge.routes ?? [])].sort(byPrecedence).map((route) => ({
    ...branchOf(route, route.id, stepsOf(route, ROUTE_MODULES, route.id)),
    match: { text: route.match, exact: route.match_type === 'exact_path' },
  }))
  return { kind, hostports, steps: edgeSteps, branches }
}

/** Routing order: exact matches first, then the longest prefix. */
function byPrecedence(one: PageRoute, other: PageRoute): number {
  const exact = (route: PageRoute) => (route.match_type === 'exact_path' ? 0 : 1)
  return (
    exact(one) - exact(other) || other.match.length - one.match.length || (one.match < other.match ? -1 : 1)
  )
}

/** Resolves a backend and everything below it to a tree. */
export function resolveBackend(id: string, context: FlowContext, depth: number): BackendNode {
  const backend = context.backends.get(id)
  const kind = backendKindOf(id)
  const base = { id, kind, children: [], online: 0, tunnels: [], joinCommand: undefined }
  if (backend === undefined || kind === undefined || depth > MAX_DEPTH)
    return { ...base, title: 'Missing backend', summary: id, ready: false }
  const titleOr = (title: string) => backend.description || title
  switch (kind) {
    case 'http_response':
      return {
        ...base,
        title: titleOr('Fixed response'),
        summary: `returns ${backend.status_code} with ${describeSize(backend.body_bytes ?? 0)}`,
        ready: true,
      }
    case 'static':
      return {
        ...base,
        title: titleOr('Fixed address'),
        summary: `${backend.address}${backend.tls ? ' over TLS' : ''}`,
        ready: true,
      }
    case 'tunnel_group': {
      const { online = 0, tunnels = [] } = backend
      const labels = Object.entries(backend.labels ?? {}).map(([key, value]) => `${key}=${value}`)
      return {
        ...base,
        title: titleOr('Tunnel group'),
        summary: labels.join(', '),
        ready: online > 0,
        online,
        tunnels,
        joinCommand: `adit tunnel ${labels.map((label) => `--label ${label} `).join('')}3000`,
      }
    }
    case 'weighted': {
      const weights = Object.entries((backend.backends ?? {}) as Record<string, number>)
      const total = weights.reduce((sum, [, weight]) => sum + weight, 0)
      const children = weights
        .sort(([, one], [, other]) => other - one)
        .map(([childId, weight]) => ({
          label: percent(total === 0 ? 0 : weight / total),
          share: total === 0 ? 0 : weight / total,
          node: resolveBackend(childId, context, depth + 1),
        }))
      return {
        ...base,
        title: titleOr('Weighted'),
        summary: 'split by weight',
        children,
        ready: children.some(({ share, node }) => share > 0 && node.ready),
      }
    }
    case 'failover': {
      const children = ((backend.backends ?? []) as readonly string[]).map((childId, index) => ({
        label: ordinal(index + 1),
        share: undefined,
        node: resolveBackend(childId, context, depth + 1),
      }))
      return {
        ...base,
        title: titleOr('Failover'),
        summary: 'first reachable',
        children,
        ready: children.some(({ node }) => node.ready),
      }
    }
    default:
      // A kind that has nothing of its own to show.
      return {
        ...base,
        title: titleOr(BACKEND_KIND_TEXTS[kind as BackendKind].title),
        summary: '',
        ready: true,
      }
  }
}

function describeSize(bytes: number): string {
  if (bytes === 0) return 'an empty body'
  if (bytes === 1) return 'one byte'
  return bytes < 1000 ? `${bytes} bytes` : `${(bytes / 1000).toFixed(1)} kB`
}

function percent(share: number): string {
  const value = share * 100
  return `${Number.isInteger(value) ? value : value.toFixed(value < 10 ? 1 : 0)} %`
}

function ordinal(position: number): string {
  const suffix =
    position % 100 > 10 && position % 100 < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][position % 10] ?? 'th')
  return `${position}${suffix}`
}

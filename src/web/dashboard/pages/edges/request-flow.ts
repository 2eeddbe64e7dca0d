import {
  type Backend,
  type BackendKind,
  type BackendModule,
  backendKindOf,
  type Edge,
  type EdgeKind,
  type ModuleSettings,
  type PageRoute,
  type Tunnel,
} from '../resources.ts'
import { EDGE_MODULES, MODULES, type ModuleName, ROUTE_MODULES, summarizeModule } from './modules.ts'

/** What can be opened for editing in the picture. */
export type EditTarget =
  | { readonly kind: 'edge' }
  | { readonly kind: 'route'; readonly routeId: string }
  | { readonly kind: 'module'; readonly routeId: string | undefined; readonly module: ModuleName }
  | { readonly kind: 'backend'; readonly backendId: string }
  | { readonly kind: 'choose_backend'; readonly routeId: string | undefined }

export type StepState = 'on' | 'off' | 'broken'

/** One station on the way of a request. */
export interface FlowStep {
  readonly module: ModuleName
  readonly title: string
  readonly summary: string
  readonly action: string
  readonly state: StepState
  /** Why nobody gets past it. */
  readonly reason: string | undefined
  readonly target: EditTarget
}

/** Who answers, with those it passes requests on to. */
export interface BackendNode {
  readonly id: string
  readonly kind: BackendKind | undefined
  readonly title: string
  readonly summary: string
  /** Whether anybody would answer now. */
  readonly ready: boolean
  readonly children: readonly BackendChild[]
  /** The tunnels online of a tunnel group. */
  readonly tunnels: readonly Tunnel[]
  /** What an agent has to be started with to join a tunnel group. */
  readonly joinCommand: string | undefined
}

export interface BackendChild {
  /** `75 %` or `1st`. */
  readonly label: string
  /** The part of all requests, from 0 to 1; only for shares. */
  readonly share: number | undefined
  readonly node: BackendNode
}

/** One path through the edge, from the route on. */
export interface FlowBranch {
  readonly routeId: string | undefined
  /** The paths that come this way; undefined where an edge has no routes. */
  readonly match: { readonly text: string; readonly exact: boolean } | undefined
  readonly description: string
  readonly steps: readonly FlowStep[]
  readonly backend: BackendNode | undefined
  /** False when the backend is chosen but switched off. */
  readonly backendEnabled: boolean
}

/** The way of a request through an edge. */
export interface RequestFlow {
  readonly kind: EdgeKind
  readonly hostports: readonly string[]
  /** What happens before a path is looked at. */
  readonly steps: readonly FlowStep[]
  readonly branches: readonly FlowBranch[]
}

/** A place on the edge where nobody is let in. */
export interface BrokenModule {
  readonly id: string
  readonly module: string
  readonly reason: string
}

/** What the edge points at. */
export interface FlowContext {
  readonly backends: ReadonlyMap<string, Backend>
  readonly tunnels: ReadonlyMap<string, Tunnel>
  readonly broken?: readonly BrokenModule[]
}

// As deep as the edge itself follows backends.
const MAX_DEPTH = 8

/** Works out the way from the edge and what it points at. */
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

/** In the order in which routes are tried: exact ones, then longer prefixes before shorter ones. */
function byPrecedence(one: PageRoute, other: PageRoute): number {
  const exact = (route: PageRoute) => (route.match_type === 'exact_path' ? 0 : 1)
  return (
    exact(one) - exact(other) || other.match.length - one.match.length || (one.match < other.match ? -1 : 1)
  )
}

/** The tree below a backend. */
export function resolveBackend(id: string, context: FlowContext, depth: number): BackendNode {
  const backend = context.backends.get(id)
  const kind = backendKindOf(id)
  const base = { id, kind, children: [], tunnels: [], joinCommand: undefined }
  if (backend === undefined || depth > MAX_DEPTH)
    return { ...base, title: 'Missing backend', summary: id, ready: false }
  const titleOr = (title: string) => backend.description || title
  switch (kind) {
    case 'http_response':
      return {
        ...base,
        title: titleOr('Fixed answer'),
        summary: `answers ${backend.status_code} with ${sizeOf(backend.body ?? '')}`,
        ready: true,
      }
    case 'static':
      return {
        ...base,
        title: titleOr('Fixed address'),
        summary: `${backend.address}${backend.tls?.enabled ? ' over TLS' : ''}`,
        ready: true,
      }
    case 'tunnel_group': {
      const tunnels = (backend.tunnels ?? []).flatMap((ref) => context.tunnels.get(ref.id) ?? [])
      const labels = Object.entries(backend.labels ?? {}).map(([key, value]) => `${key}=${value}`)
      return {
        ...base,
        title: titleOr('Tunnel group'),
        summary: labels.join(', '),
        ready: (backend.tunnels ?? []).length > 0,
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
        summary: 'shared by weight',
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
        summary: 'the first that can be reached',
        children,
        ready: children.some(({ node }) => node.ready),
      }
    }
    default:
      return { ...base, title: 'Missing backend', summary: id, ready: false }
  }
}

function sizeOf(body: string): string {
  if (body === '') return 'an empty body'
  const { length } = new TextEncoder().encode(body)
  if (length === 1) return 'one byte'
  return length < 1000 ? `${length} bytes` : `${(length / 1000).toFixed(1)} kB`
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

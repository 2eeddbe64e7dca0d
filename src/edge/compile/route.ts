import type { HttpsRoute, routeModules } from '../../resources/index.ts'
import { toHttpBackend } from '../backends/index.ts'
import type { HttpBackend } from '../contracts/backend.ts'
import type { ConnectionStep, RequestStep } from '../contracts/module.ts'
import type { OwnedRecord } from '../contracts/snapshot.ts'
import { createCounters, type HttpRoute } from '../contracts/table.ts'
import type { ModuleContext } from '../modules/context.ts'
import { requestOrder } from '../modules/index.ts'
import { noteAdmitted } from '../modules/ip-restriction.ts'
import { clientIdentity } from '../modules/mutual-tls.ts'
import type { CompileContext } from './context.ts'
import { buildModule, denyAll } from './module.ts'
import { buildPolicyModule } from './policy.ts'

/** The modules of a route, and what they belong to. */
export type RouteModules = Pick<OwnedRecord<typeof HttpsRoute>, 'id' | 'edge_id' | keyof typeof routeModules>

/** Compiles a route of an HTTPS edge with its modules in order. A route that cannot be built denies and is reported. */
export function compileRoute(
  record: RouteModules,
  context: CompileContext,
  { mutualTls, hostports }: { mutualTls: boolean; hostports: readonly string[] | null },
): HttpRoute {
  const { id } = record
  const moduleContext = context.moduleContext(id)
  const counters = moduleContext.getOrCreate('counters', '', createCounters)
  try {
    const steps = buildRequestSteps(record, moduleContext)
    const policy = buildPolicyModule(
      {
        settings: record.traffic_policy,
        attachment: { protocol: 'https', kind: 'route' },
        edgeId: record.edge_id,
        hostports,
      },
      id,
      context,
    )
    // A policy is nearest to the upstream: it sees requests as the modules leave them, and responses first.
    if (policy?.request !== undefined) steps.push(policy.request)
    if (mutualTls) steps.unshift(clientIdentity)
    if (record.ip_restriction?.enabled) steps.unshift(noteAdmitted)
    return {
      id,
      connectionSteps: buildConnectionSteps(record, context, moduleContext),
      steps: steps.length === 0 ? undefined : steps,
      signIns: policy?.signIns,
      backend: buildBackend(record, context, moduleContext),
      counters,
    }
  } catch (error) {
    return deniedRoute(id, context.reportBroken(id, error), counters)
  }
}

/** A route that denies all traffic. */
export function deniedRoute(id: string, module: string, counters = createCounters()): HttpRoute {
  return { id, connectionSteps: [denyAll(module)], steps: undefined, backend: () => undefined, counters }
}

function buildConnectionSteps(
  { ip_restriction }: RouteModules,
  context: CompileContext,
  moduleContext: ModuleContext,
): ConnectionStep[] {
  const steps = [context.accountRestriction]
  if (ip_restriction?.enabled) steps.push(buildModule('ip_restriction', ip_restriction, moduleContext))
  return steps
}

function buildRequestSteps(record: RouteModules, moduleContext: ModuleContext): RequestStep[] {
  return requestOrder.flatMap((name) => {
    const settings = record[name]
    // Each name matches its own settings type, which the module list ensures; the union type cannot express that.
    return settings?.enabled ? [buildModule(name, settings as never, moduleContext)] : []
  })
}

function buildBackend(
  { backend: backendSettings, websocket_tcp_converter }: RouteModules,
  context: CompileContext,
  moduleContext: ModuleContext,
): HttpBackend {
  const balanced: HttpBackend = backendSettings?.enabled
    ? toHttpBackend(context.balancer(backendSettings.backend_id, 'https-edge'))
    : () => undefined
  return websocket_tcp_converter?.enabled
    ? buildModule('websocket_tcp_converter', websocket_tcp_converter, moduleContext)(balanced)
    : balanced
}

import type { HttpsRoute } from '../../resources/index.ts'
import type { HttpBackend } from '../backend.ts'
import { httpBackend } from '../backends/index.ts'
import type { ConnectionStep, RequestStep } from '../module.ts'
import type { World } from '../modules/context.ts'
import { requestOrder } from '../modules/index.ts'
import { noteAdmitted } from '../modules/ip-restriction.ts'
import { clientIdentity } from '../modules/mutual-tls.ts'
import { newCounters, type Route } from '../table.ts'
import type { Making } from './context.ts'
import { buildModule, denyAll } from './module.ts'
import type { Kept } from './snapshot.ts'

type RouteRecord = Kept<typeof HttpsRoute>

/** A route of an HTTPS edge with its modules in their order. One that cannot be built denies, and is reported. */
export function compileRoute(record: RouteRecord, making: Making, mutualTls: boolean): Route {
  const { id } = record
  const world = making.world(id)
  const counters = world.keep('counters', '', newCounters)
  try {
    const steps = requestSteps(record, world)
    if (mutualTls) steps.unshift(clientIdentity)
    if (record.ip_restriction?.enabled) steps.unshift(noteAdmitted)
    return {
      id,
      admission: admission(record, making, world),
      steps: steps.length === 0 ? undefined : steps,
      backend: backend(record, making, world),
      counters,
    }
  } catch (error) {
    return deniedRoute(id, making.report(id, error), counters)
  }
}

/** A route on which nobody is let in. */
export function deniedRoute(id: string, module: string, counters = newCounters()): Route {
  return { id, admission: [denyAll(module)], steps: undefined, backend: () => undefined, counters }
}

function admission({ ip_restriction }: RouteRecord, making: Making, world: World): ConnectionStep[] {
  const steps = [making.accountAdmission]
  if (ip_restriction?.enabled) steps.push(buildModule('ip_restriction', ip_restriction, world))
  return steps
}

function requestSteps(record: RouteRecord, world: World): RequestStep[] {
  return requestOrder.flatMap((name) => {
    const settings = record[name]
    // Each name goes with its own settings, which the list of modules holds; the union of them all cannot say so.
    return settings?.enabled ? [buildModule(name, settings as never, world)] : []
  })
}

function backend(
  { backend: chosen, websocket_tcp_converter }: RouteRecord,
  making: Making,
  world: World,
): HttpBackend {
  const plain: HttpBackend = chosen?.enabled
    ? httpBackend(making.choice(chosen.backend_id, 'https-edge'))
    : () => undefined
  return websocket_tcp_converter?.enabled
    ? buildModule('websocket_tcp_converter', websocket_tcp_converter, world)(plain)
    : plain
}

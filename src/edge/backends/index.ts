/**
 * Backends: what answers a request or connection once its modules have run. Each kind compiles a stored record to a
 * `Balancer` (`balancer.ts`), which picks a target per request. One file holds one kind; `static-target.ts` and the
 * streams beside it dial fixed addresses and fall back when a dial fails. The folder may use the edge's contracts,
 * `upstream` and `message`, and the record types of `snapshot.ts`. Begin with `backendKinds` below, then
 * `context.ts`; `compile/backends.ts` builds the tree.
 */

import { resourceOfPrefix, type resources } from '../../resources/index.ts'
import {
  type HttpBackend,
  isEdgeResponse,
  type TcpBackend,
  type UpstreamTarget,
} from '../contracts/backend.ts'
import type { BackendKind, OwnedRecord, Snapshot } from '../contracts/snapshot.ts'
import type { EdgeResponse } from '../response/response.ts'
import type { Balancer } from './balancer.ts'
import type { BackendBuilder, BackendContext } from './context.ts'
import { failover } from './failover.ts'
import { FallbackStream } from './fallback-stream.ts'
import { httpResponse } from './http-response.ts'
import { staticAddress } from './static-address.ts'
import { StaticTarget } from './static-target.ts'
import { tunnelGroup } from './tunnel-group.ts'
import { weighted } from './weighted.ts'

/** The builder of each backend kind. A missing kind does not compile. */
const backendKinds: { readonly [K in BackendKind]: BackendBuilder<OwnedRecord<(typeof resources)[K]>> } = {
  backends_http_response: httpResponse,
  backends_tunnel_group: tunnelGroup,
  backends_weighted: weighted,
  backends_failover: failover,
  backends_static: staticAddress,
}

/** A backend record bound to its builder. */
export interface BackendDefinition {
  readonly accountId: string
  /** Ids of the backends it references. */
  readonly children: readonly string[]
  build(context: BackendContext): Balancer
}

function childrenOf(record: object): readonly string[] {
  const backends: unknown = 'backends' in record ? record.backends : undefined
  if (Array.isArray(backends)) return backends
  return typeof backends === 'object' && backends !== null ? Object.keys(backends) : []
}

/** Looks up a backend of any kind by id. */
export function findBackend(id: string, snapshot: Snapshot): BackendDefinition | undefined {
  const kind = resourceOfPrefix(id.slice(0, id.indexOf('_')))?.kind as BackendKind | undefined
  if (kind === undefined || !Object.hasOwn(backendKinds, kind)) return undefined
  const record = snapshot.backend(kind, id)
  if (record === undefined) return undefined
  return {
    accountId: record.accountId,
    children: childrenOf(record),
    // The list of builders ensures that each gets the records of its kind.
    build: (context) => backendKinds[kind](record as never, context),
  }
}

/** Adapts a balancer to HTTP requests. */
export function toHttpBackend(balancer: Balancer): HttpBackend {
  return (_exchange, failedTargets) =>
    failedTargets.length === 0 ? balancer.pick() : balancer.pickNext(failedTargets)
}

/** Adapts a balancer to TCP connections. */
export function toTcpBackend(balancer: Balancer): TcpBackend {
  const targetOnly = (picked: UpstreamTarget | EdgeResponse | undefined) =>
    picked === undefined || isEdgeResponse(picked) ? undefined : picked
  const pickNextTarget = (failedTargets: readonly UpstreamTarget[]) =>
    targetOnly(balancer.pickNext(failedTargets))
  return (failedTargets) => {
    const target = failedTargets.length === 0 ? targetOnly(balancer.pick()) : pickNextTarget(failedTargets)
    if (!(target instanceof StaticTarget)) return target
    // A failed dial shows only after the client's bytes are on their way, so the stream itself falls back.
    return {
      name: target.name,
      pool: target.pool,
      open: (client) => new FallbackStream(client, target, failedTargets, pickNextTarget),
    }
  }
}

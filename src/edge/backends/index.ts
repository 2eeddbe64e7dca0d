import type { BACKEND_PREFIXES } from '../../resources/index.ts'
import { type HttpBackend, isAnswer, type RawBackend, type Target } from '../backend.ts'
import type { Snapshot } from '../compile/snapshot.ts'
import type { Answer } from '../response.ts'
import type { Choice } from './balancer.ts'
import type { BackendWorld } from './context.ts'
import { failover } from './failover.ts'
import { FallbackStream } from './fallback-stream.ts'
import { httpResponse } from './http-response.ts'
import { staticAddress } from './static-address.ts'
import { StaticTarget } from './static-target.ts'
import { tunnelGroup } from './tunnel-group.ts'
import { weighted } from './weighted.ts'

/** What each kind of backend compiles to, by the prefix of its ids: one that is missing does not compile. */
const kinds = {
  bkdhr: (id, { httpResponses }) => bound(httpResponse, httpResponses.get(id)),
  bkdtg: (id, { tunnelGroups }) => bound(tunnelGroup, tunnelGroups.get(id)),
  bkdwd: (id, { weighted: all }) => bound(weighted, all.get(id)),
  bkdfo: (id, { failovers }) => bound(failover, failovers.get(id)),
  bkdsc: (id, { statics }) => bound(staticAddress, statics.get(id)),
} satisfies Record<
  (typeof BACKEND_PREFIXES)[number],
  (id: string, snapshot: Snapshot) => FoundBackend | undefined
>

/** A backend that is there, ready to be built. */
export interface FoundBackend {
  readonly accountId: string
  /** The backends it names. */
  readonly children: readonly string[]
  build(world: BackendWorld): Choice
}

function bound<R extends { readonly accountId: string }>(
  build: (record: R, world: BackendWorld) => Choice,
  record: R | undefined,
): FoundBackend | undefined {
  if (record === undefined) return undefined
  return {
    accountId: record.accountId,
    children: childrenOf(record),
    build: (world) => build(record, world),
  }
}

function childrenOf(record: object): readonly string[] {
  const backends: unknown = 'backends' in record ? record.backends : undefined
  if (Array.isArray(backends)) return backends
  return typeof backends === 'object' && backends !== null ? Object.keys(backends) : []
}

/** The backend with this id, of whatever kind. */
export function findBackend(id: string, snapshot: Snapshot): FoundBackend | undefined {
  const prefix = id.slice(0, id.indexOf('_'))
  return Object.hasOwn(kinds, prefix) ? kinds[prefix as keyof typeof kinds](id, snapshot) : undefined
}

/** A choice for requests. */
export function httpBackend(choice: Choice): HttpBackend {
  return (exchange, attempt) => (attempt === 0 ? choice.first() : choice.next(exchange.tried ?? []))
}

/** A choice for raw connections. */
export function rawBackend(choice: Choice): RawBackend {
  const targetOnly = (chosen: Target | Answer | undefined) =>
    chosen === undefined || isAnswer(chosen) ? undefined : chosen
  const next = (tried: readonly Target[]) => targetOnly(choice.next(tried))
  return (tried) => {
    const target = tried.length === 0 ? targetOnly(choice.first()) : next(tried)
    if (!(target instanceof StaticTarget)) return target
    // Whether an address can be dialled shows only later, when the visitor's bytes are on their way.
    return {
      name: target.name,
      pool: target.pool,
      open: (visitor) => new FallbackStream(visitor, target, tried, next),
    }
  }
}

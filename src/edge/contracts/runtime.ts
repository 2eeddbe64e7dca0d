import type { TrustedProxies } from '../../base/http/forwarded.ts'
import type { ByteBudgets } from '../../base/io/memory/byte-budget.ts'
import type { TimerWheel } from '../../base/io/memory/timer-wheel.ts'
import type { WindowBudget } from '../../base/io/memory/window-budget.ts'
import type { FlushScheduler } from '../../base/io/streams/flush-scheduler.ts'
import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import type { FindErrorPage } from '../response/custom-error-page.ts'
import type { Traffic } from '../stats/traffic.ts'
import type { ClusterService } from './connection.ts'
import type { EdgeLimits } from './limits.ts'
import type { Observer } from './observe.ts'
import type { HttpHost, RoutingTable, TcpHost } from './table.ts'

/** A client connection that the edge tracks, so that a stop or a configuration change reaches it. */
export interface LiveConnection {
  /** Finishes the exchanges in flight and accepts no new ones. */
  drain(): void
  destroy(): void
  /** Called after the configuration changed, so that open connections obey the change too. */
  revalidate(): void
}

/** The endpoints that serve the services of Kubernetes clusters; undefined where an operator has none. */
export interface ClusterServiceLookup {
  /** The endpoint of a service; of a pool, the one that `next` answered last. */
  current(service: ClusterService): HttpHost | TcpHost | undefined
  /** The endpoint for one more request or TCP connection: of a pool, the next one. */
  next(service: ClusterService): HttpHost | TcpHost | undefined
}

/** Says whether this process can serve visitors and agents. */
export type RespondReadiness = () => { readonly status: number; readonly body: object }

/** A look-up without services. */
export const NO_CLUSTER_SERVICES: ClusterServiceLookup = { current: () => undefined, next: () => undefined }

/** State shared by all connections of one edge. */
export interface EdgeRuntime {
  readonly flushScheduler: FlushScheduler
  readonly timers: TimerWheel
  readonly clock: Clock
  readonly log: Logger
  readonly limits: EdgeLimits
  readonly connections: Set<LiveConnection>
  /** Idle upstream connections, pooled for the next request. */
  readonly idleUpstreams: Set<{ close(): void }>
  /** The proxies whose forwarding fields name the client of a request. */
  readonly trustedProxies: TrustedProxies | undefined
  readonly observer: Observer | undefined
  /** Traffic totals of each account. */
  readonly traffic: Traffic
  /** Charged for request bodies that are held until a module has read them (decision 120). */
  readonly heldBodyBudgets: ByteBudgets
  /** Charged for large bodies of the edge itself until their clients have taken them. */
  readonly localReplyBudgets: ByteBudgets
  /** What the windows of HTTP/2 connections exceed their initial size by (decision 195). */
  readonly windows: WindowBudget
  /** Returns the response to an ACME HTTP challenge of a host (RFC 8555 section 8.3). */
  readonly acmeChallenge: ((token: string, host: string) => string | undefined) | undefined
  /** Responds to balancers that check the HTTP listener; undefined unless the operator asked for it. */
  readonly readiness: RespondReadiness | undefined
  /** Base URL of the pages that explain error codes; undefined when clients cannot reach them. */
  errorPagesUrl(): string | undefined
  /** The account's own page for an error. */
  findErrorPage: FindErrorPage
  clusterServices: ClusterServiceLookup
  /** The ports clients connect to; plain requests are redirected to the first. */
  publicHttpsPort: number
  publicHttpPort: number
  /** The routing table. Each request reads it anew; configuration changes are applied to it host by host. */
  table: RoutingTable
  draining: boolean
}

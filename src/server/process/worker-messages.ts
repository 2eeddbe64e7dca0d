import type { AddressInfo, Server } from 'node:net'
import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import type { HolderCount } from '../../base/io/sockets/concurrency-limiter.ts'
import type { ListedNode } from '../../cluster/index.ts'
import type { Edge, LoginService, RateLease, RateLeaseRequest } from '../../edge/index.ts'
import type { RequestLogUpdate } from '../../sessions/index.ts'
import type { Commit } from '../../store/index.ts'
import type { ServerLimits } from '../settings/server-limits.ts'
import type { ListenerAnswer, ListenerQuestion } from './upgrade-messages.ts'

/** What a worker is started with. */
export interface WorkerStart {
  /** From 1; it survives restarts. */
  readonly number: number
  /** Its command line. Sent as a message, since other users can read the arguments of a process. */
  readonly args: readonly string[]
  readonly limits: ServerLimits
  /** The URL of the API's listener; empty while it is not bound. */
  readonly listenerUrl: string
  /** Whether it takes over from a worker of another release. */
  readonly isSuccessor: boolean
}

/** The listeners that a worker has bound. */
export interface WorkerAddresses {
  readonly http: number | undefined
  readonly https: number | undefined
  /** `host:port`; null when switched off. */
  readonly agent: string | null
  readonly ssh: string | null
}

/** The metrics of a process. */
export type Metrics = readonly MetricObjectWithValues<MetricValue<string>>[]

/** What the control process calls in a worker. */
export interface WorkerMethods {
  /** The worker as its peers know it. */
  node(): ListedNode | undefined
  /** Links the worker with the other processes of the server; resolves once it is. */
  link(nodes: readonly ListedNode[]): Promise<void>
  setListenerUrl(url: string): void
  /** Resolves once its traffic follows these commits, or all that is committed now. */
  applyChanges(commits: readonly Commit[] | null): Promise<void>
  metrics(): Promise<Metrics>
  totals: Edge['traffic']['totals']
  history: Edge['traffic']['history']
  countries: Edge['traffic']['countries']
  countsOf: Edge['scopes']['countsOf']
  brokenIn: Edge['scopes']['brokenIn']
  failedSignIns: LoginService['failuresOf']
  /** Takes over the listeners of the worker that it replaces. */
  takeOver(): Promise<void>
  /** The worker that it replaces has ended. */
  completeUpgrade(): Promise<void>
  /** Where its listener of this name is bound. */
  addressOf(name: string): AddressInfo | undefined
  /** Its listener of this name, for the worker that replaces it. */
  takeListener(name: string): Server | undefined
  /** Stops accepting everywhere: another worker has the listeners. */
  handOver(): void
  /** Drains its clients and agents, then ends the process. */
  stop(): Promise<void>
}

type GatewayName = 'agent' | 'ssh'

/** What workers tell each other, through the control process. */
export type WorkerUpdate =
  /** It has started, perhaps in place of one that crashed, and knows nothing of the others. */
  | { readonly started: true }
  /** Its connections by holder, of one of the counts that gateways share. */
  | { readonly holders: { readonly name: string; readonly counts: readonly HolderCount[] } }
  | { readonly loginFailed: { readonly gateway: GatewayName; readonly ip: string } }
  | { readonly requestLog: RequestLogUpdate }

/** One call; the reply carries its id. */
export interface WorkerCall {
  readonly id: number
  readonly method: keyof WorkerMethods
  readonly args: readonly unknown[]
}

export type MessageToWorker =
  | { readonly start: WorkerStart }
  /** Answered by its event loop, whatever else it does. */
  | { readonly question: 'alive' }
  | { readonly call: WorkerCall }
  /** With the number of the worker that tells. */
  | { readonly update: WorkerUpdate; readonly from: number }
  /** In the order of the requests. */
  | { readonly leases: readonly RateLease[] }
  /** Comes with the socket. */
  | { readonly connection: 'agent' }
  /** From the worker that it replaces; comes with the listener that was asked for. */
  | { readonly answer: ListenerAnswer }

export type MessageFromWorker =
  | { readonly alive: true }
  | { readonly ready: WorkerAddresses }
  /** The start failed, for this reason. */
  | { readonly failed: string }
  | { readonly committed: Commit }
  | { readonly broadcast: WorkerUpdate }
  /** Asks for leases of rate limits. */
  | { readonly leaseRequests: readonly RateLeaseRequest[] }
  /** For the worker that it replaces. */
  | { readonly question: ListenerQuestion }
  /** Comes with the result if that is a listener. */
  | { readonly reply: { readonly id: number; readonly result?: unknown; readonly error?: string } }

import type { AddressInfo, Server, Socket } from 'node:net'
import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import type { ListedNode } from '../../cluster/index.ts'
import type { Edge, LoginService } from '../../edge/index.ts'
import type { Commit } from '../../store/index.ts'
import type { TopicName, TopicValue } from '../bus/topics.ts'
import type { ServerLimits } from '../settings/server-limits.ts'

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
  /** Makes the process a worker; it serves when this resolves. */
  start(start: WorkerStart): Promise<WorkerAddresses>
  /** Answered by its event loop, whatever else it does. */
  alive(): void
  /** Another process says this: the control process, 0, or the worker of this number. */
  receive<T extends TopicName>(topic: T, value: TopicValue<T>, sender: number): void
  /** Serves the connection of an agent, of which nothing has been read; undefined if it was closed on the way. */
  acceptAgent(socket: Socket | undefined): void
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

/** What a worker calls in the control process. */
export interface ControlMethods {
  /** The worker says or asks this. */
  receive<T extends TopicName>(topic: T, value: TopicValue<T>): unknown
  /** Where the worker that it replaces listens under this name. */
  addressOf(name: string): Promise<AddressInfo | undefined> | undefined
  /** That listener. */
  takeListener(name: string): Promise<Server | undefined> | undefined
}

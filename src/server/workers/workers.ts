import type { AddressInfo, Server, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Counter, Registry } from 'prom-client'
import { requireFreePort } from '../../base/io/sockets/require-free-port.ts'
import { CommandFailure } from '../../base/process/command-line.ts'
import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import type { Cluster } from '../../cluster/index.ts'
import { RateLedger } from '../../edge/index.ts'
import type { Commit } from '../../store/index.ts'
import type { Bus } from '../bus/bus.ts'
import { TOPICS, type TopicName, type TopicValue } from '../bus/topics.ts'
import { workerFlags, workerRoles } from '../process/worker-flags.ts'
import type { WorkerAddresses, WorkerMethods } from '../process/worker-messages.ts'
import type { ServerLimits } from '../settings/server-limits.ts'
import type { ListenerAddress } from '../settings/setting-values.ts'
import type { RoleName, ServerSettings } from '../settings/settings.ts'
import type { PredecessorChannel, RunningWorkers } from '../upgrade/predecessor-channel.ts'
import { AppliedChanges } from './applied-changes.ts'
import { WorkerHandle, WorkerStartFailed } from './worker-handle.ts'
import { registerWorkerMetrics } from './worker-metrics.ts'

/** The first restart is quick; a worker that keeps crashing is restarted less and less often. */
const MIN_RESTART_MS = 100
const MAX_RESTART_MS = 30_000
/** A worker that has run for this long is not one that keeps crashing. */
const STABLE_MS = 60_000

export interface WorkersOptions {
  /** Those of the whole server. */
  readonly settings: ServerSettings
  readonly limits: ServerLimits
  readonly count: number
  /** The process whose workers these replace, one by one. */
  readonly predecessor: PredecessorChannel | undefined
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Registry
}

interface RunningWorker {
  readonly handle: WorkerHandle
  readonly changes: AppliedChanges
  isServing: boolean
  hasHung: boolean
}

/**
 * The workers: processes on the same data directory that run the roles of traffic and share the public ports. Starts and
 * restarts them, and calls them on behalf of the control process.
 */
export class Workers {
  readonly #options: WorkersOptions
  /** By number, from 1. */
  readonly #running = new Map<number, RunningWorker>()
  readonly #stopping = new AbortController()
  readonly #restarts: Counter<'worker' | 'reason'>
  #bound: WorkerAddresses | undefined
  #listenerUrl = ''
  #handedOver = 0
  /** The process whose workers these replace, while it runs. */
  #predecessor: PredecessorChannel | undefined
  #takesOver = false
  /** Links the processes of the server with each other. */
  #link = async () => {}
  /** Processes that are no workers yet. */
  readonly #prestarted: WorkerHandle[]

  constructor(options: WorkersOptions) {
    this.#options = options
    const { bus, clock } = options
    bus.connect(['control'], { tell: (topic, value) => bus.receive(topic, value) })
    const rates = new RateLedger(clock)
    bus.subscribe('rateLease', (request) => rates.lease(request))
    this.#restarts = registerWorkerMetrics(options.metrics, () =>
      [...this.#running].map(([number, { handle }]) => [number, handle.silentSeconds] as const),
    )
    this.#prestarted = Array.from({ length: options.count }, () => new WorkerHandle())
    this.#predecessor = options.predecessor
    this.#bound = options.predecessor?.workers?.addresses
  }

  /** The roles that they run. */
  get roles(): ReadonlySet<RoleName> {
    return new Set(workerRoles(this.#options.settings))
  }

  /** Why traffic is not served as it should be; undefined while it is. */
  get problem(): string | undefined {
    const serving = [...this.#running].filter(([, { isServing }]) => isServing)
    if (serving.length === 0) return 'No worker serves traffic.'
    for (const [number, { handle }] of serving)
      if (handle.silentSeconds > 0)
        return `Worker ${number} has not responded for ${handle.silentSeconds} s: connections that reach it wait.`
    return undefined
  }

  /** Resolves once all workers serve, with the addresses that they share: the first binds what is given as port 0. */
  async start(): Promise<WorkerAddresses> {
    const { settings, count } = this.#options
    const numbers = Array.from({ length: count }, (_, index) => index + 1)
    if (this.#bound === undefined) {
      await requireFreePorts(settings)
      if (addressesOf(settings).some(({ port }) => port === 0))
        this.#bound = await this.#startFirst(numbers.shift()!)
    }
    const [bound] = await Promise.all(numbers.map((number) => this.#startFirst(number)))
    this.#bound ??= bound
    return this.#bound!
  }

  /**
   * Links the workers and this process with each other, now and whenever a worker was restarted. They find each other in
   * the database as well, but it may be away.
   */
  async link(cluster: Pick<Cluster, 'self' | 'introduce'>): Promise<void> {
    this.#link = async () => {
      const workers = (await this.callAll('node')).values()
      const nodes = [cluster.self, ...workers].filter((node) => node !== undefined)
      await Promise.all([cluster.introduce(nodes), this.callAll('link', nodes)])
    }
    await this.#link()
  }

  /** What a release that replaces this one has to know. */
  get description(): RunningWorkers | undefined {
    return this.#bound && { count: this.#options.count, addresses: this.#bound }
  }

  /** Where the listener of this name of a worker is bound. */
  async addressOf(number: number, name: string): Promise<AddressInfo | undefined> {
    return this.#ask(number, 'addressOf', name)
  }

  /** A listener of a worker, for the one that replaces it. It is passed on in the same turn, before it accepts anything. */
  async takeListener(number: number, name: string): Promise<Server | undefined> {
    return this.#ask(number, 'takeListener', name)
  }

  /** Takes over the listeners of the workers that these replace, also for a worker that crashes from now on. */
  async takeOver(): Promise<void> {
    this.#takesOver = true
    await Promise.all([...this.#running.values()].map(({ handle }) => handle.channel.call('takeOver')))
  }

  /** The workers that these replace have ended. */
  async completeUpgrade(): Promise<void> {
    this.#predecessor = undefined
    await this.callAll('completeUpgrade')
  }

  /** Tells all workers, also those that start later, where the API listens. */
  async setListenerUrl(url: string): Promise<void> {
    this.#listenerUrl = url
    await this.callAll('setListenerUrl', url)
  }

  /** Tells all workers that this process or one of them has committed something. */
  notifyCommit(commit: Commit): void {
    for (const { isServing, changes } of this.#running.values()) if (isServing) changes.notify(commit)
  }

  /** Resolves once all workers that respond have applied what is committed now. */
  async applied(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ changes }) => changes.wait()))
  }

  /** Hands over the connection of an agent, to each worker in turn. */
  handOver(socket: Socket): void {
    const serving = [...this.#running.values()].filter(({ isServing }) => isServing)
    const worker = serving[this.#handedOver++ % serving.length]
    if (worker === undefined) socket.destroy()
    else worker.handle.channel.handOver('acceptAgent', socket)
  }

  /** Drains all workers at once and resolves when they have ended. One that is starting serves nothing yet. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const handle of this.#prestarted.splice(0)) handle.kill()
    const running = [...this.#running.values()]
    for (const { handle, isServing } of running) if (!isServing) handle.kill()
    await Promise.all(running.map(({ handle, isServing }) => (isServing ? handle.stop() : handle.ended)))
  }

  /** Calls a method of every worker that serves and responds; the results of those that answer, by number. */
  async callAll<M extends keyof WorkerMethods>(
    method: M,
    ...args: Parameters<WorkerMethods[M]>
  ): Promise<ReadonlyMap<number, Awaited<ReturnType<WorkerMethods[M]>>>> {
    const results = new Map<number, Awaited<ReturnType<WorkerMethods[M]>>>()
    const calls = [...this.#running].map(async ([number, { handle, isServing }]) => {
      if (!isServing) return
      const reply = handle.call(method, ...args)
      // One that hangs learns of it if it recovers.
      if (handle.silentSeconds > 0) return void reply.catch(() => {})
      try {
        results.set(number, await reply)
      } catch (err) {
        this.#options.log.warn({ err, worker: number, method }, 'worker did not answer')
      }
    })
    await Promise.all(calls)
    return results
  }

  /** Calls a method of one worker; undefined when it does not answer. */
  async #ask<M extends keyof WorkerMethods>(
    number: number,
    method: M,
    ...args: Parameters<WorkerMethods[M]>
  ): Promise<Awaited<ReturnType<WorkerMethods[M]>> | undefined> {
    return this.#running
      .get(number)
      ?.handle.call(method, ...args)
      .catch(() => undefined)
  }

  /** A worker tells or asks something; what is meant for the other workers is passed on. */
  #receive<T extends TopicName>(sender: number, topic: T, value: TopicValue<T>): unknown {
    if (TOPICS[topic].to !== 'workers') return this.#options.bus.receive(topic, value, sender)
    // Also to one that is starting: it has just asked the others.
    for (const [number, { handle }] of this.#running)
      if (number !== sender) handle.channel.publish(topic, value, sender)
    return undefined
  }

  /** A worker has missed something: it forgets what the others have told, and all tell each other again. */
  #rejoin(number: number): void {
    const missed = this.#running.get(number)
    for (const other of this.#running.keys())
      if (other !== number) missed?.handle.channel.publish('joined', true, other)
    this.#receive(number, 'joined', true)
  }

  /** The first start of a worker: it fails with what the worker would have printed. */
  async #startFirst(number: number): Promise<WorkerAddresses> {
    const running = this.#launch(number)
    try {
      const bound = await running.handle.ready
      void this.#supervise(number, running)
      return bound
    } catch (error) {
      this.#running.delete(number)
      throw error instanceof WorkerStartFailed ? new CommandFailure(error.message) : error
    }
  }

  #launch(number: number): RunningWorker {
    const { settings, limits } = this.#options
    const args = workerFlags(settings, number, this.#bound)
    const { log } = this.#options
    const isSuccessor = this.#predecessor !== undefined
    const handle = this.#prestarted.pop() ?? new WorkerHandle()
    const changes = new AppliedChanges((commits) => handle.call('applyChanges', commits))
    const running = { handle, changes, isServing: false, hasHung: false }
    this.#running.set(number, running)
    handle.start(
      { number, args, limits, listenerUrl: this.#listenerUrl, isSuccessor },
      {
        methods: {
          receive: (topic, value) => this.#receive(number, topic, value),
          addressOf: (name) => this.#predecessor?.addressOf(name, number),
          takeListener: (name) => this.#predecessor?.take(name, number),
        },
        onMissed: () => this.#rejoin(number),
        onHang() {
          running.hasHung = true
          const { pid, silentSeconds } = handle
          log.error({ worker: number, pid, silentSeconds }, 'worker does not respond: ending it')
        },
      },
    )
    handle.ready.then(
      () => {
        running.isServing = true
        // It has not heard of the commits during its start.
        changes.notifyAll()
        if (isSuccessor && this.#takesOver) void this.#ask(number, 'takeOver')
        if (isSuccessor && this.#predecessor === undefined) void this.#ask(number, 'completeUpgrade')
      },
      () => {},
    )
    return running
  }

  /** Restarts a worker whenever it ends, until the server stops. */
  async #supervise(number: number, first: RunningWorker): Promise<void> {
    const { clock, log } = this.#options
    let running = first
    let crashes = 0
    let startedAt = clock.monotonic()
    for (;;) {
      const { code, signal } = await running.handle.ended
      running.isServing = false
      if (this.#stopping.signal.aborted) return
      const ranMs = clock.monotonic() - startedAt
      this.#restarts.inc({ worker: number, reason: running.hasHung ? 'hang' : 'crash' })
      crashes = ranMs < STABLE_MS ? crashes + 1 : 1
      const delayMs = restartDelay(crashes)
      const reason = await running.handle.ready.then(
        () => undefined,
        (error: Error) => error.message,
      )
      log.error(
        { worker: number, pid: running.handle.pid, code, signal, reason, delayMs },
        'worker ended: restarting',
      )
      await delay(delayMs, undefined, { signal: this.#stopping.signal }).catch(() => {})
      if (this.#stopping.signal.aborted) return
      startedAt = clock.monotonic()
      running = this.#launch(number)
      const { handle } = running
      handle.ready.then(
        () => {
          log.info({ worker: number, pid: handle.pid }, 'worker is back')
          void this.#link()
        },
        () => {},
      )
    }
  }
}

/** How long to wait before the restart after this many crashes in a row. */
export function restartDelay(crashes: number): number {
  return Math.min(MIN_RESTART_MS * 2 ** (crashes - 1), MAX_RESTART_MS)
}

/** Also that of the API, which is bound last. The port of agents is open already (`agent-port.ts`). */
async function requireFreePorts(settings: ServerSettings): Promise<void> {
  for (const address of [...addressesOf(settings), settings.apiAddr])
    if (address !== undefined) await requireFreePort(address)
}

/** Where the listeners of the workers are bound. */
function addressesOf({ httpAddr, httpsAddr, sshAddr }: ServerSettings): ListenerAddress[] {
  return [httpAddr, httpsAddr, sshAddr].filter((address) => address !== undefined)
}

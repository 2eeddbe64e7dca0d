import { randomUUID } from 'node:crypto'
import type { Registry } from 'prom-client'
import { fanOut } from '../base/limits/fan-out.ts'
import type { Outbound } from '../base/outbound/outbound.ts'
import type { Logger } from '../base/process/log.ts'
import { type Clock, systemClock } from '../base/values/clock.ts'
import { KsuidGenerator } from '../base/values/id.ts'
import { type DeadLetter, type DurableStore, openEventQueue, type SinkState } from '../store/index.ts'
import { type DestinationStatus, describeStatus } from './destinations/destination-status.ts'
import { DESTINATIONS, Destinations } from './destinations/destinations.ts'
import { createEventMetrics, type SinkGauges } from './destinations/metrics.ts'
import { Subscriptions } from './destinations/subscriptions.ts'
import { sendTestEvent } from './destinations/test-event.ts'
import { serializeEvent, uriOf } from './event.ts'
import type { BatchResult } from './queue/delivery-worker.ts'
import { Dispatcher } from './queue/dispatcher.ts'
import { Inbox } from './queue/inbox.ts'
import { Outbox } from './queue/outbox.ts'
import { Ownership } from './queue/ownership.ts'
import { TrafficWorkers } from './queue/traffic-workers.ts'
import {
  accountOfLifecycleEvent,
  lifecycleEvents,
  lifecycleObject,
  type SessionLifecycleEvent,
} from './session-events.ts'
import type { CloudIdentity, TargetEndpoints } from './target.ts'
import {
  type FinishedConnection,
  type FinishedRequest,
  HTTP_REQUEST,
  TCP_CONNECTION,
} from './traffic/traffic.ts'
import type { TrafficEvent } from './traffic/traffic-event.ts'

const SUBSCRIPTIONS = 'event_subscriptions'

/** Limits and timeouts; the defaults are documented in docs/events.md. */
export interface EventLimits {
  /** Maximum number of events queued in the store for one destination. */
  readonly queue: number
  /** Maximum number of traffic events buffered in memory for one destination. */
  readonly buffer: number
  /** Timeout of one request to a sink. */
  readonly attemptMs: number
  readonly leaseMs: number
  readonly tickMs: number
  /** Grace period for deliveries in flight at shutdown. */
  readonly graceMs: number
}

const DEFAULT_LIMITS: EventLimits = {
  queue: 100_000,
  buffer: 10_000,
  attemptMs: 15_000,
  leaseMs: 9000,
  tickMs: 250,
  graceMs: 3000,
}

export interface EventsOptions {
  readonly store: DurableStore
  readonly outbound: Pick<Outbound, 'fetch'>
  readonly log: Logger
  /** Base URL for `uri`; known once the API listens. */
  readonly apiUrl: () => string
  readonly clock?: Clock
  readonly random?: () => number
  readonly metrics?: Registry
  /** Whether this process may deliver queued events; only one process does so at a time. */
  readonly jobs?: boolean
  /** The lease holder: stable across restarts, so that a process need not wait for its own lease after a crash. */
  readonly node?: string
  readonly endpoints?: TargetEndpoints
  readonly cloudIdentity?: CloudIdentity
  readonly limits?: Partial<EventLimits>
}

/** An event of an object outside the store. */
export interface EmittedEvent {
  readonly type: string
  readonly accountId: string
  readonly object: unknown
  /** Its position among the events of the object. */
  readonly sequence: number
}

/** The events part: delivers the events of the platform to the destinations of its accounts. */
export interface Events {
  start(): Promise<void>
  stop(): Promise<void>
  /** Whether the account has a subscription for this type: two map lookups. */
  hasSubscribers(type: string, accountId: string): boolean
  /** Queues an event of an object outside the store. */
  emit(event: EmittedEvent): void
  /** Called by the session registry. */
  onLive(event: SessionLifecycleEvent): void
  /** Called by the edge. */
  readonly observer: {
    wantsRequests(accountId: string): boolean
    onRequest(request: FinishedRequest): void
    wantsConnections(accountId: string): boolean
    onConnection(connection: FinishedConnection): void
  }
  /** Sends a test event immediately, bypassing the queue. Throws `TestEventFailed`, or `NoSuchRow` for an unknown destination. */
  sendTest(accountId: string, destinationId: string): Promise<{ event_id: string }>
  status(accountId: string, destinationId: string): Promise<DestinationStatus>
  /** The states of all destinations that ever had an event, for the operator. */
  states(): Promise<SinkState[]>
  /** Dead letters of a destination, newest first. */
  deadLetters(
    destinationId: string,
    page: { limit: number; before?: string | undefined },
  ): Promise<DeadLetter[]>
  /** Queues dead letters again, all of a destination or these ids; returns how many. */
  replay(destinationId: string, ids?: readonly string[]): Promise<number>
}

/** Creates the events part. Test events, status and replay work without starting it. */
export function createEvents(options: EventsOptions): Events {
  const { store, outbound, apiUrl, log, clock = systemClock, random = Math.random, jobs = true } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const queue = openEventQueue(store)
  const targetContext = {
    outbound,
    clock,
    endpoints: options.endpoints ?? {},
    attemptMs: limits.attemptMs,
    cloudIdentity: options.cloudIdentity,
  }
  const destinations = new Destinations(targetContext)
  const subscriptions = new Subscriptions(log)
  const ids = new KsuidGenerator('ev')

  const metrics =
    options.metrics &&
    createEventMetrics(options.metrics, async () =>
      // The owner reports all destinations; other processes report their own buffers only.
      toGauges(dispatcher.owning ? await queue.states() : [], traffic),
    )
  const onSettled = (destination: string, { delivered, failed: failures }: BatchResult) => {
    metrics?.delivered.inc({ destination }, delivered.length)
    metrics?.failed.inc(
      { destination },
      failures.reduce((sum, { ids }) => sum + ids.length, 0),
    )
  }
  const onDropped = (destination: string, count = 1) => metrics?.dropped.inc({ destination }, count)
  const common = { queue, destinations, clock, random, log, onSettled, onDropped }

  const ownership = new Ownership({
    store,
    clock,
    name: 'events',
    holder: options.node ?? randomUUID(),
    ttlMs: limits.leaseMs,
  })
  const outbox = new Outbox({ store, queue, clock, log, apiUrl, limit: limits.queue, ids })
  const dispatcher = new Dispatcher({ ...common, outbox, ownership, version: () => store.watch.version })
  const traffic = new TrafficWorkers({ ...common, limit: limits.buffer })
  const inbox = new Inbox({ queue, clock, limit: limits.queue, onDropped })

  let followers: { stop(): void }[] = []
  let timer: NodeJS.Timeout | undefined
  let tickTask: Promise<void> | undefined
  let degraded = false

  async function tick(): Promise<void> {
    const work = [inbox.flush(), traffic.tick(), ...(jobs ? [dispatcher.tick()] : [])]
    const failure = (await Promise.allSettled(work)).find((outcome) => outcome.status === 'rejected')
    // Logged once per outage, not on every tick.
    if (failure !== undefined && !degraded)
      log.warn({ err: failure.reason }, 'event processing interrupted, retrying')
    degraded = failure !== undefined
  }

  function wake(): void {
    if (timer === undefined) return
    tickTask ??= tick().finally(() => {
      tickTask = undefined
    })
  }

  function emit({ type, accountId, object, sequence }: EmittedEvent): void {
    const routes = subscriptions.routes(type, accountId)
    if (routes.length === 0) return
    const event = serializeEvent(ids, {
      type,
      accountId,
      time: clock.now(),
      sequence,
      object,
      principal: null,
    })
    const targets = new Set(routes.flatMap((route) => route.destinations))
    for (const destination of targets) inbox.add({ ...event, destination, account: accountId })
    setImmediate(wake)
  }

  function emitTraffic(type: string, accountId: string, time: number, event: unknown): void {
    fanOut(
      subscriptions.routes(type, accountId),
      ({ traffic: recording, destinations: targets }) => {
        if (!recording?.matches(event)) return
        let captured: TrafficEvent | undefined
        for (const destination of targets) {
          if (!traffic.admit(destination)) continue
          captured ??= recording.recorder.capture(ids, event, time)
          traffic.push(destination, captured)
        }
      },
      onCaptureError,
    )
  }

  function onCaptureError(error: unknown): void {
    log.error({ err: error }, 'capturing a traffic event failed')
  }

  return {
    async start() {
      followers = [
        await followDestinations(store, destinations, subscriptions),
        store.watch.follow(() => setImmediate(wake)),
      ]
      timer = setInterval(wake, limits.tickMs)
      timer.unref()
      wake()
    },

    async stop() {
      for (const follower of followers) follower.stop()
      clearInterval(timer)
      timer = undefined
      await tickTask
      const shutdowns = [inbox.flush(), traffic.stop(limits.graceMs), dispatcher.stop(limits.graceMs)]
      for (const result of await Promise.allSettled(shutdowns))
        if (result.status === 'rejected') log.warn({ err: result.reason }, 'event shutdown failed')
    },

    hasSubscribers: (type, accountId) => subscriptions.hasRoutes(type, accountId),
    emit,

    onLive(event) {
      const { type, sequence } = lifecycleEvents[event.type]
      const accountId = accountOfLifecycleEvent(event)
      if (!subscriptions.hasRoutes(type, accountId)) return
      const object = lifecycleObject(event, clock.now(), (id) => uriOf(apiUrl(), id))
      emit({ type, accountId, sequence, object })
    },

    observer: {
      wantsRequests: (accountId) => subscriptions.hasRoutes(HTTP_REQUEST, accountId),
      onRequest: (request) => emitTraffic(HTTP_REQUEST, request.accountId, request.endedAt, request),
      wantsConnections: (accountId) => subscriptions.hasRoutes(TCP_CONNECTION, accountId),
      onConnection: (closed) => emitTraffic(TCP_CONNECTION, closed.accountId, closed.endedAt, closed),
    },

    sendTest: (accountId, destinationId) =>
      sendTestEvent({ store, queue, ids, clock, apiUrl, targetContext }, accountId, destinationId),

    async status(accountId, destinationId) {
      const [state, row] = await Promise.all([
        queue.state(destinationId),
        store.get(DESTINATIONS, accountId, destinationId),
      ])
      const accountState = state?.account === accountId ? state : undefined
      return describeStatus(accountState, row?.revision, traffic.size(destinationId))
    },

    states: () => queue.states(),
    deadLetters: (destinationId, page) => queue.deadLetters(destinationId, page),

    async replay(destinationId, ids) {
      const count = await queue.replay(destinationId, { now: clock.now(), limit: limits.queue, ids })
      wake()
      return count
    },
  }
}

/** Follows the destinations and subscriptions of all accounts. */
function followDestinations(store: DurableStore, destinations: Destinations, subscriptions: Subscriptions) {
  return store.follow([DESTINATIONS, SUBSCRIPTIONS], {
    reset(rows) {
      destinations.clear()
      subscriptions.clear()
      for (const row of rows) {
        if (row.kind === DESTINATIONS) destinations.set(row)
        else subscriptions.set(row.id, row.account, row.data)
      }
    },
    change(changes) {
      for (const { kind, id, row } of changes) {
        if (kind === DESTINATIONS) {
          if (row === undefined) destinations.remove(id)
          else destinations.set(row)
        } else if (row === undefined) subscriptions.remove(id)
        else subscriptions.set(id, row.account, row.data)
      }
    },
  })
}

/** The gauges of the destinations of these states, and of those that only this process buffers events for. */
function toGauges(states: readonly SinkState[], traffic: TrafficWorkers): SinkGauges[] {
  const reported = new Set(states.map(({ destination }) => destination))
  const others = [...traffic.sizes()].filter(({ destination }) => !reported.has(destination))
  return [
    ...states.map(({ destination, queued, dead, overflowed }) => {
      return { destination, backlog: queued + traffic.size(destination), dead, overflowed }
    }),
    ...others.map(({ destination, size }) => ({ destination, backlog: size, dead: 0, overflowed: 0 })),
  ]
}

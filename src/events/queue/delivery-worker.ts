import type { Logger } from '../../base/process/log.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import type { Clock } from '../../base/values/clock.ts'
import type { PendingEvent, Settlement } from '../../store/index.ts'
import type { Destination } from '../destinations/destinations.ts'
import {
  type BatchLimits,
  DeliveryFailed,
  type DeliveryOutcome,
  type DeliveryTarget,
  type OutboundEvent,
  toFailure,
} from '../target.ts'
import { nextAttempt } from './schedule.ts'

/** An event of a queue with its number of attempts so far, if any. */
export type QueuedDelivery = OutboundEvent & Partial<Pick<PendingEvent, 'attempts'>>

/** The result of one batch, for its queue. */
export type BatchResult = Omit<Settlement, 'destination' | 'account'>

/** The queue that a worker takes its events from. */
export interface DeliveryQueue {
  /** The revision of the destination at which its receiver answered 410 Gone. */
  readonly goneRevision: number | undefined
  /** The next batch; empty when there is none yet. */
  take(limits: BatchLimits, now: number): Promise<readonly QueuedDelivery[]>
  settle(result: BatchResult): Promise<void>
}

export interface DeliveryWorkerOptions {
  readonly queue: DeliveryQueue
  /** The current configuration; undefined when the destination is deleted. */
  readonly destination: () => Destination | undefined
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly onSettled: (result: BatchResult) => void
}

// A sink that accepts nothing at all gets exponential backoff, however many events are queued: trying each event in turn
// would cost more than serving the traffic that the events describe.
const MIN_BACKOFF_MS = 1_000
const MAX_BACKOFF_MS = 16_000
const NO_BACKOFF = { ms: 0, until: Number.NEGATIVE_INFINITY, revision: 0 }

const FALLBACK_LIMITS: BatchLimits = {
  maxEvents: 500,
  maxBytes: 1024 * 1024,
  maxEventBytes: Number.POSITIVE_INFINITY,
  lingerMs: 0,
}

/**
 * Delivers the events of one queue to one destination, batch by batch. Workers are independent, so that a slow or stuck
 * destination delays no other.
 */
export class DeliveryWorker {
  readonly #options: DeliveryWorkerOptions
  readonly #abort = new AbortController()
  #runTask: Promise<void> | undefined
  #pendingResult: BatchResult | undefined
  #stopping = false
  #backoff = NO_BACKOFF

  constructor(options: DeliveryWorkerOptions) {
    this.#options = options
  }

  /** True when no batch is in flight and no result is waiting to be settled. */
  get idle(): boolean {
    return this.#runTask === undefined && this.#pendingResult === undefined
  }

  /** Starts delivering unless a delivery is already running. */
  wake(): void {
    if (this.#stopping) return
    this.#runTask ??= this.#run().finally(() => {
      this.#runTask = undefined
    })
  }

  /** Takes no further batch, and aborts the one in flight after the grace period. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    const timer = setTimeout(() => this.#abort.abort(), graceMs)
    await this.#runTask
    clearTimeout(timer)
  }

  /** Delivers the remaining events within the grace period and stops. */
  async drain(graceMs: number): Promise<void> {
    const timer = setTimeout(() => this.#abort.abort(), graceMs)
    await this.#runTask
    this.#backoff = NO_BACKOFF
    this.wake()
    await this.#runTask
    clearTimeout(timer)
    this.#stopping = true
  }

  async #run(): Promise<void> {
    const { queue, destination: current, clock, log } = this.#options
    try {
      do {
        // The result is kept while the store is unavailable: waiting is better than delivering events twice.
        await this.#settle()
        const destination = current()
        if (destination === undefined || this.#isBackingOff(destination)) return
        const target = resolveTarget(destination)
        const batch = await queue.take(target.limits, clock.now())
        if (batch.length === 0) return
        this.#pendingResult = await this.#attempt(destination, target, batch)
        await this.#settle()
      } while (!this.#stopping && !this.#abort.signal.aborted)
    } catch (error) {
      log.warn({ err: error }, 'event delivery interrupted, retrying')
    }
  }

  async #settle(): Promise<void> {
    if (this.#pendingResult === undefined) return
    const result = this.#pendingResult
    await this.#options.queue.settle(result)
    this.#pendingResult = undefined
    this.#options.onSettled(result)
  }

  async #attempt(
    destination: Destination,
    target: DeliveryTarget,
    batch: readonly QueuedDelivery[],
  ): Promise<BatchResult> {
    const { queue, clock, random } = this.#options
    const gone = queue.goneRevision === destination.revision
    const result = new BatchResultBuilder(destination.revision, random)
    const deliverable: QueuedDelivery[] = []
    for (const event of batch) {
      const reason = permanentFailure(event, target.limits, gone)
      if (reason === undefined) deliverable.push(event)
      else result.add(event, { delivered: false, error: reason, final: true }, clock.now())
    }
    const outcomes = deliverable.length === 0 ? [] : await deliver(target, deliverable, this.#abort.signal)
    const now = clock.now()
    for (const [index, event] of deliverable.entries()) {
      const outcome = outcomes[index] ?? toFailure(new DeliveryFailed('The target gave no answer.'))
      // A delivery aborted by our own shutdown says nothing about the receiver.
      if (outcome.delivered || !this.#abort.signal.aborted) result.add(event, outcome, now)
    }
    const batchResult = result.build(now)
    this.#updateBackoff(destination, batchResult)
    return batchResult
  }

  #updateBackoff({ revision }: Destination, { delivered, failed }: BatchResult): void {
    const deliveredNothing = delivered.length === 0 && failed.some(({ dueAt }) => dueAt !== undefined)
    const ms = Math.min(Math.max(this.#backoff.ms * 2, MIN_BACKOFF_MS), MAX_BACKOFF_MS)
    this.#backoff = deliveredNothing
      ? { ms, until: this.#options.clock.monotonic() + ms, revision }
      : NO_BACKOFF
  }

  /** A changed destination is tried immediately. */
  #isBackingOff({ revision }: Destination): boolean {
    return revision === this.#backoff.revision && this.#options.clock.monotonic() < this.#backoff.until
  }
}

function resolveTarget(destination: Destination): DeliveryTarget {
  try {
    return destination.target()
  } catch (error) {
    const reason = `The destination cannot be used: ${errorMessage(error)}`
    return { limits: FALLBACK_LIMITS, deliver: () => Promise.reject(new DeliveryFailed(reason)) }
  }
}

async function deliver(
  target: DeliveryTarget,
  batch: readonly OutboundEvent[],
  signal: AbortSignal,
): Promise<readonly DeliveryOutcome[]> {
  try {
    return await target.deliver(batch, signal)
  } catch (error) {
    const outcome = toFailure(error)
    return batch.map(() => outcome)
  }
}

/** Why an event can never be delivered; undefined when it can be tried. */
function permanentFailure(
  event: OutboundEvent,
  { maxEventBytes }: BatchLimits,
  gone: boolean,
): string | undefined {
  if (gone) return 'The receiver answered 410 Gone: it gets no more events until the destination is changed.'
  // A character takes at most six bytes, so most events need no exact count.
  const size = event.size ?? event.body.length
  const large = size * 6 > maxEventBytes && Buffer.byteLength(event.body) > maxEventBytes
  return large ? `The event is larger than the ${maxEventBytes} bytes that the target takes.` : undefined
}

/** Groups outcomes: events with the same failure get the same time for their next attempt, and so the same batch. */
class BatchResultBuilder {
  readonly #revision: number
  readonly #random: () => number
  readonly #delivered: string[] = []
  readonly #failed = new Map<string, { ids: string[]; error: string; dueAt: number | undefined }>()
  #gone = false

  constructor(revision: number, random: () => number) {
    this.#revision = revision
    this.#random = random
  }

  add({ id, attempts = 0 }: QueuedDelivery, outcome: DeliveryOutcome, now: number): void {
    if (outcome.delivered) {
      this.#delivered.push(id)
      return
    }
    const { retryAfterMs, final } = outcome
    this.#gone ||= outcome.gone === true
    const error = outcome.error.slice(0, 500)
    const key = JSON.stringify([attempts, error, retryAfterMs, final])
    const group = this.#failed.get(key)
    if (group !== undefined) group.ids.push(id)
    else {
      const dueAt = final ? undefined : nextAttempt(attempts + 1, now, retryAfterMs, this.#random)
      this.#failed.set(key, { ids: [id], error, dueAt })
    }
  }

  build(now: number): BatchResult {
    const goneRevision = this.#gone ? this.#revision : undefined
    return { now, delivered: this.#delivered, failed: [...this.#failed.values()], goneRevision }
  }
}

import type { BatchLimits, OutboundEvent } from '../target.ts'
import type { BatchResult, DeliveryQueue, QueuedDelivery } from './delivery-worker.ts'

/** The memory budget that all buffers of a process share. */
export interface MemoryBudget {
  bytesLeft: number
}

/** Counts since the last call of `takeCounts`. */
export interface BufferCounts {
  delivered: number
  failed: number
  dropped: number
  error: string | undefined
  goneRevision: number | undefined
}

/** An event that holds its values and is serialized on demand. */
type LazyEvent = OutboundEvent & Required<Pick<OutboundEvent, 'quoted' | 'size'>>

/** A failed event to retry. It wraps the event, because other buffers may hold the same one with other attempts. */
class RetryEvent implements QueuedDelivery, LazyEvent {
  readonly event: LazyEvent
  readonly attempts: number
  readonly dueAt: number

  constructor(event: LazyEvent, attempts: number, dueAt: number) {
    this.event = event
    this.attempts = attempts
    this.dueAt = dueAt
  }

  get id(): string {
    return this.event.id
  }

  get type(): string {
    return this.event.type
  }

  get time(): number {
    return this.event.time
  }

  get body(): string {
    return this.event.body
  }

  get quoted(): string {
    return this.event.quoted
  }

  get size(): number {
    return this.event.size
  }
}

// Minimum time to wait for a batch of traffic to fill.
const MIN_LINGER_MS = 1000
// A receiver that answered 410 is tried again after this time: this process does not see a replay or test elsewhere.
const GONE_RETRY_MS = 15 * 60 * 1000

/**
 * The traffic events of one destination, in memory only (decision 52). When the sink accepts too few and the buffer is
 * full, events are dropped and counted.
 */
export class TrafficBuffer implements DeliveryQueue {
  readonly #budget: MemoryBudget
  readonly #limit: number
  /** Events before their first attempt, oldest first; `#next` is the index of the first one not taken. */
  #untried: LazyEvent[] = []
  #next = 0
  #retries: RetryEvent[] = []
  /** The batch in flight: a worker has one at a time. */
  #inFlight: readonly (LazyEvent | RetryEvent)[] = []
  #bytes = 0
  #goneRevision: number | undefined
  #goneAt = 0
  #counts = emptyCounts()
  #flushing = false

  constructor(budget: MemoryBudget, limit: number) {
    this.#budget = budget
    this.#limit = limit
  }

  get size(): number {
    return this.#untriedCount + this.#retries.length + this.#inFlight.length
  }

  get goneRevision(): number | undefined {
    return this.#goneRevision
  }

  /** Whether there is room for one more event; otherwise counts it as dropped, before any work is spent on it. */
  admit(): boolean {
    if (this.size < this.#limit && this.#budget.bytesLeft > 0) return true
    this.#counts.dropped += 1
    return false
  }

  /** Adds an admitted event; returns the number of events before their first attempt. */
  push(event: LazyEvent): number {
    this.#charge(maxBytesOf(event))
    this.#untried.push(event)
    return this.#untriedCount
  }

  /** Stops waiting for full batches, for shutdown. */
  flush(): void {
    this.#flushing = true
  }

  /** Drops all remaining events. */
  discard(): void {
    const remaining = [...this.#untried.slice(this.#next), ...this.#retries, ...this.#inFlight]
    for (const event of remaining) this.#drop(event)
    this.#untried = []
    this.#next = 0
    this.#retries = []
    this.#inFlight = []
  }

  /** Returns and resets the counts; undefined when all are zero. */
  takeCounts(): BufferCounts | undefined {
    const counts = this.#counts
    if (counts.delivered + counts.failed + counts.dropped === 0) return undefined
    this.#counts = emptyCounts()
    return counts
  }

  async take(limits: BatchLimits, now: number): Promise<readonly QueuedDelivery[]> {
    if (now - this.#goneAt > GONE_RETRY_MS) this.#goneRevision = undefined
    const batch: (LazyEvent | RetryEvent)[] = this.#dueRetries(limits, now)
    if (batch.length === 0 && this.#isReady(limits, now)) {
      let bytes = 0
      while (this.#untriedCount > 0 && batch.length < limits.maxEvents) {
        const event = this.#untried[this.#next]!
        bytes += maxBytesOf(event)
        if (batch.length > 0 && bytes > limits.maxBytes) break
        this.#next += 1
        batch.push(event)
      }
      if (this.#next > this.#untried.length / 2) {
        this.#untried = this.#untried.slice(this.#next)
        this.#next = 0
      }
    }
    this.#inFlight = batch
    return batch
  }

  async settle({ now, delivered, failed, goneRevision }: BatchResult): Promise<void> {
    if (failed.length === 0 && delivered.length === this.#inFlight.length) {
      this.#charge(-this.#inFlight.reduce((sum, event) => sum + maxBytesOf(event), 0))
      this.#inFlight = []
      this.#counts.delivered += delivered.length
      return
    }
    const failures = new Map(failed.flatMap((failure) => failure.ids.map((id) => [id, failure] as const)))
    const deliveredIds = new Set(delivered)
    // Aborted by our own shutdown.
    const unresolved: (LazyEvent | RetryEvent)[] = []
    for (const event of this.#inFlight) {
      const failure = failures.get(event.id)
      if (failure === undefined) {
        if (deliveredIds.has(event.id)) this.#charge(-maxBytesOf(event))
        else unresolved.push(event)
      } else if (failure.dueAt === undefined) this.#drop(event)
      else this.#retries.push(toRetry(event, failure.dueAt))
    }
    this.#inFlight = unresolved
    this.#counts.delivered += delivered.length
    this.#counts.failed += failures.size
    this.#counts.error = failed.at(-1)?.error ?? this.#counts.error
    if (goneRevision === undefined) return
    this.#goneRevision = goneRevision
    this.#goneAt = now
    this.#counts.goneRevision = goneRevision
  }

  get #untriedCount(): number {
    return this.#untried.length - this.#next
  }

  /** Whether a batch of untried events is full, or has waited long enough. */
  #isReady({ maxEvents, maxBytes, lingerMs }: BatchLimits, now: number): boolean {
    const oldest = this.#untried[this.#next]
    if (oldest === undefined) return false
    if (this.#flushing || this.#untriedCount >= maxEvents || this.#bytes >= maxBytes) return true
    return now - oldest.time >= Math.max(lingerMs, MIN_LINGER_MS)
  }

  /** Removes the events that are due from the retries. */
  #dueRetries({ maxEvents, maxBytes }: BatchLimits, now: number): RetryEvent[] {
    const batch: RetryEvent[] = []
    const notDue: RetryEvent[] = []
    let bytes = 0
    for (const event of this.#retries) {
      const fits = batch.length < maxEvents && (batch.length === 0 || bytes + maxBytesOf(event) <= maxBytes)
      if (event.dueAt > now || !fits) notDue.push(event)
      else {
        bytes += maxBytesOf(event)
        batch.push(event)
      }
    }
    this.#retries = notDue
    return batch
  }

  #charge(bytes: number): void {
    this.#bytes += bytes
    this.#budget.bytesLeft -= bytes
  }

  #drop(event: LazyEvent): void {
    this.#charge(-maxBytesOf(event))
    this.#counts.dropped += 1
  }
}

function toRetry(event: LazyEvent | RetryEvent, dueAt: number): RetryEvent {
  return event instanceof RetryEvent
    ? new RetryEvent(event.event, event.attempts + 1, dueAt)
    : new RetryEvent(event, 1, dueAt)
}

/** An upper bound for the size of the text; an exact count would cost more than it is worth. */
function maxBytesOf({ size }: LazyEvent): number {
  return size * 2
}

function emptyCounts(): BufferCounts {
  return { delivered: 0, failed: 0, dropped: 0, error: undefined, goneRevision: undefined }
}

import type { LaneEvent, LaneQueue, Settled } from './delivery-worker.ts'
import type { BatchLimits, Parcel } from './targets/target.ts'

/** Memory that all buffers of a process share. */
export interface Budget {
  bytesLeft: number
}

/** What has come of buffered events since it was last asked. */
export interface BufferTally {
  delivered: number
  failed: number
  dropped: number
  error: string | undefined
  goneRevision: number | undefined
}

/** An event whose values are at hand and whose text is written when it is asked for. */
type Late = Parcel & Required<Pick<Parcel, 'quoted' | 'size'>>

/** An event that was tried before: other buffers may hold the same one, with a fate of its own. */
class Retry implements LaneEvent, Late {
  readonly event: Late
  readonly attempts: number
  readonly dueAt: number

  constructor(event: Late, attempts: number, dueAt: number) {
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

  get at(): number {
    return this.event.at
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

// A batch of traffic is worth waiting a moment for.
const MIN_LINGER_MS = 1000
// A receiver that wanted nothing more is asked again now and then: nobody tells this process that it does.
const GONE_MS = 15 * 60 * 1000

/**
 * Traffic events of one destination, in memory alone: too many to be written down, and dropped, and counted, when the
 * sink does not take them for so long that there is no more room.
 */
export class TrafficBuffer implements LaneQueue {
  readonly #budget: Budget
  readonly #limit: number
  /** Not tried yet, oldest first: taken from the front, which `#next` marks, in whole batches. */
  #fresh: Late[] = []
  #next = 0
  #retries: Retry[] = []
  /** The batch under way: a lane has one at a time. */
  #sent: readonly (Late | Retry)[] = []
  #bytes = 0
  #goneRevision: number | undefined
  #goneAt = 0
  #tally = emptyTally()
  #flushing = false

  constructor(budget: Budget, limit: number) {
    this.#budget = budget
    this.#limit = limit
  }

  get size(): number {
    return this.#freshCount + this.#retries.length + this.#sent.length
  }

  get goneRevision(): number | undefined {
    return this.#goneRevision
  }

  /** Whether there is room for one more; when not, it counts as dropped, before any work was spent on it. */
  admits(): boolean {
    if (this.size < this.#limit && this.#budget.bytesLeft > 0) return true
    this.#tally.dropped += 1
    return false
  }

  /** Adds an event that was admitted; answers how many now wait for their first attempt. */
  push(event: Late): number {
    this.#hold(bytesOf(event))
    this.#fresh.push(event)
    return this.#freshCount
  }

  /** From now on batches are not waited for: the process ends. */
  flush(): void {
    this.#flushing = true
  }

  /** Drops what is left. */
  discard(): void {
    const left = [...this.#fresh.slice(this.#next), ...this.#retries, ...this.#sent]
    for (const event of left) this.#drop(event)
    this.#fresh = []
    this.#next = 0
    this.#retries = []
    this.#sent = []
  }

  /** What happened since the last time; undefined when nothing did. */
  takeTally(): BufferTally | undefined {
    const tally = this.#tally
    if (tally.delivered + tally.failed + tally.dropped === 0) return undefined
    this.#tally = emptyTally()
    return tally
  }

  async take(limits: BatchLimits, now: number): Promise<readonly LaneEvent[]> {
    if (now - this.#goneAt > GONE_MS) this.#goneRevision = undefined
    const batch: (Late | Retry)[] = this.#dueRetries(limits, now)
    if (batch.length === 0 && this.#isReady(limits, now)) {
      let bytes = 0
      while (this.#freshCount > 0 && batch.length < limits.maxEvents) {
        const event = this.#fresh[this.#next]!
        bytes += bytesOf(event)
        if (batch.length > 0 && bytes > limits.maxBytes) break
        this.#next += 1
        batch.push(event)
      }
      if (this.#next > this.#fresh.length / 2) {
        this.#fresh = this.#fresh.slice(this.#next)
        this.#next = 0
      }
    }
    this.#sent = batch
    return batch
  }

  async settle({ now, delivered, failed, goneRevision }: Settled): Promise<void> {
    if (failed.length === 0 && delivered.length === this.#sent.length) {
      this.#hold(-this.#sent.reduce((sum, event) => sum + bytesOf(event), 0))
      this.#sent = []
      this.#tally.delivered += delivered.length
      return
    }
    const fates = new Map(failed.flatMap((fate) => fate.ids.map((id) => [id, fate] as const)))
    const taken = new Set(delivered)
    // Cut short by our own end.
    const unknown: (Late | Retry)[] = []
    for (const event of this.#sent) {
      const fate = fates.get(event.id)
      if (fate === undefined) {
        if (taken.has(event.id)) this.#hold(-bytesOf(event))
        else unknown.push(event)
      } else if (fate.dueAt === undefined) this.#drop(event)
      else this.#retries.push(tried(event, fate.dueAt))
    }
    this.#sent = unknown
    this.#tally.delivered += delivered.length
    this.#tally.failed += fates.size
    this.#tally.error = failed.at(-1)?.error ?? this.#tally.error
    if (goneRevision === undefined) return
    this.#goneRevision = goneRevision
    this.#goneAt = now
    this.#tally.goneRevision = goneRevision
  }

  get #freshCount(): number {
    return this.#fresh.length - this.#next
  }

  /** Whether a batch of fresh events is full, or has been waited for long enough. */
  #isReady({ maxEvents, maxBytes, lingerMs }: BatchLimits, now: number): boolean {
    const oldest = this.#fresh[this.#next]
    if (oldest === undefined) return false
    if (this.#flushing || this.#freshCount >= maxEvents || this.#bytes >= maxBytes) return true
    return now - oldest.at >= Math.max(lingerMs, MIN_LINGER_MS)
  }

  /** Takes the events whose next attempt is due out of those that failed. */
  #dueRetries({ maxEvents, maxBytes }: BatchLimits, now: number): Retry[] {
    const batch: Retry[] = []
    const rest: Retry[] = []
    let bytes = 0
    for (const event of this.#retries) {
      const fits = batch.length < maxEvents && (batch.length === 0 || bytes + bytesOf(event) <= maxBytes)
      if (event.dueAt > now || !fits) rest.push(event)
      else {
        bytes += bytesOf(event)
        batch.push(event)
      }
    }
    this.#retries = rest
    return batch
  }

  #hold(bytes: number): void {
    this.#bytes += bytes
    this.#budget.bytesLeft -= bytes
  }

  #drop(event: Late): void {
    this.#hold(-bytesOf(event))
    this.#tally.dropped += 1
  }
}

function tried(event: Late | Retry, dueAt: number): Retry {
  return event instanceof Retry
    ? new Retry(event.event, event.attempts + 1, dueAt)
    : new Retry(event, 1, dueAt)
}

/** As much as the text takes at most; counting exactly would cost more than it is worth. */
function bytesOf({ size }: Late): number {
  return size * 2
}

function emptyTally(): BufferTally {
  return { delivered: 0, failed: 0, dropped: 0, error: undefined, goneRevision: undefined }
}

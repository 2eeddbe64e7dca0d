import type { LaneEvent, LaneQueue, Settled } from './lane.ts'
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

interface Buffered extends LaneEvent {
  attempts: number
  readonly bytes: number
  dueAt: number
  readonly arrivedAt: number
}

// A batch of traffic is worth waiting a moment for.
const MIN_LINGER_MS = 1000

/**
 * Traffic events of one destination, in memory alone: too many to be written down, and dropped, and counted, when the
 * sink does not take them for so long that there is no more room.
 */
export class TrafficBuffer implements LaneQueue {
  readonly #budget: Budget
  readonly #limit: number
  #waiting: Buffered[] = []
  readonly #sent = new Map<string, Buffered>()
  #bytes = 0
  #goneRevision: number | undefined
  #tally = emptyTally()
  #flushing = false

  constructor(budget: Budget, limit: number) {
    this.#budget = budget
    this.#limit = limit
  }

  get size(): number {
    return this.#waiting.length + this.#sent.size
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

  /** Adds an event that was admitted; answers how many now wait. */
  push({ id, type, at, body }: Parcel, now: number): number {
    // As much as the string takes at most; counting exactly would cost more than it is worth.
    const bytes = body.length * 2
    this.#hold(bytes)
    return this.#waiting.push({ id, type, at, body, bytes, attempts: 0, dueAt: now, arrivedAt: now })
  }

  /** From now on batches are not waited for: the process ends. */
  flush(): void {
    this.#flushing = true
  }

  /** Drops what is left. */
  discard(): void {
    for (const event of [...this.#waiting, ...this.#sent.values()]) this.#drop(event)
    this.#waiting = []
    this.#sent.clear()
  }

  /** What happened since the last time; undefined when nothing did. */
  takeTally(): BufferTally | undefined {
    const tally = this.#tally
    if (tally.delivered + tally.failed + tally.dropped === 0) return undefined
    this.#tally = emptyTally()
    return tally
  }

  async take(limits: BatchLimits, now: number): Promise<readonly LaneEvent[]> {
    const { maxEvents, maxBytes } = limits
    const oldest = this.#waiting[0]
    if (oldest === undefined) return []
    const linger = Math.max(limits.lingerMs, MIN_LINGER_MS)
    const full = this.#waiting.length >= maxEvents || this.#bytes >= maxBytes
    if (!full && !this.#flushing && now - oldest.arrivedAt < linger) return []
    const batch: Buffered[] = []
    const rest: Buffered[] = []
    let bytes = 0
    for (const event of this.#waiting) {
      const fits = batch.length < maxEvents && (batch.length === 0 || bytes + event.bytes <= maxBytes)
      if (event.dueAt <= now && fits) {
        bytes += event.bytes
        batch.push(event)
      } else rest.push(event)
    }
    this.#waiting = rest
    for (const event of batch) this.#sent.set(event.id, event)
    return batch
  }

  async settle({ delivered, failed, goneRevision }: Settled): Promise<void> {
    for (const id of delivered) this.#release(this.#sent.get(id))
    this.#tally.delivered += delivered.length
    for (const { ids, error, dueAt } of failed) {
      this.#tally.failed += ids.length
      this.#tally.error = error
      for (const id of ids) {
        const event = this.#sent.get(id)
        if (event === undefined) continue
        this.#sent.delete(id)
        if (dueAt === undefined) this.#drop(event)
        else this.#waiting.push(Object.assign(event, { attempts: event.attempts + 1, dueAt }))
      }
    }
    if (goneRevision === undefined) return
    this.#goneRevision = goneRevision
    this.#tally.goneRevision = goneRevision
  }

  #hold(bytes: number): void {
    this.#bytes += bytes
    this.#budget.bytesLeft -= bytes
  }

  #release(event: Buffered | undefined): void {
    if (event === undefined) return
    this.#sent.delete(event.id)
    this.#hold(-event.bytes)
  }

  #drop(event: Buffered): void {
    this.#hold(-event.bytes)
    this.#tally.dropped += 1
  }
}

function emptyTally(): BufferTally {
  return { delivered: 0, failed: 0, dropped: 0, error: undefined, goneRevision: undefined }
}

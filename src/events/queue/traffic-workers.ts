import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import type { EventQueue } from '../../store/index.ts'
import type { Destination, Destinations } from '../destinations/destinations.ts'
import type { TrafficEvent } from '../traffic/traffic-event.ts'
import { type BatchResult, DeliveryWorker } from './delivery-worker.ts'
import { type MemoryBudget, TrafficBuffer } from './traffic-buffer.ts'

const MAX_BUFFERED_BYTES = 64 * 1024 * 1024
const WAKE_EVERY_EVENTS = 250
const COUNTS_INTERVAL_MS = 5000

interface BufferedDestination {
  readonly buffer: TrafficBuffer
  readonly worker: DeliveryWorker
  account: string
}

export interface TrafficWorkersOptions {
  readonly queue: EventQueue
  readonly destinations: Destinations
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  /** Maximum number of events buffered for one destination. */
  readonly limit: number
  readonly onSettled: (destination: string, result: BatchResult) => void
  readonly onDropped: (destination: string, count: number) => void
}

/** Delivers traffic events from the process that serves the traffic: a buffer and a worker for each destination. */
export class TrafficWorkers {
  readonly #options: TrafficWorkersOptions
  readonly #budget: MemoryBudget = { bytesLeft: MAX_BUFFERED_BYTES }
  readonly #buffers = new Map<string, BufferedDestination>()
  #countsFlushedAt = Number.NEGATIVE_INFINITY

  constructor(options: TrafficWorkersOptions) {
    this.#options = options
  }

  /** The number of events that this process buffers for a destination. */
  size(destination: string): number {
    return this.#buffers.get(destination)?.buffer.size ?? 0
  }

  *sizes(): Iterable<{ destination: string; size: number }> {
    for (const [destination, { buffer }] of this.#buffers) yield { destination, size: buffer.size }
  }

  /** Whether the buffer of a destination has room for an event; otherwise counts it as dropped. */
  admit(destinationId: string): boolean {
    const destination = this.#options.destinations.get(destinationId)
    return destination !== undefined && this.#ensureBuffer(destination).buffer.admit()
  }

  /** Adds an admitted event. */
  push(destinationId: string, event: TrafficEvent): void {
    const { buffer, worker } = this.#buffers.get(destinationId)!
    if (buffer.push(event) % WAKE_EVERY_EVENTS === 0) worker.wake()
  }

  async tick(): Promise<void> {
    for (const { worker, buffer } of this.#buffers.values()) if (buffer.size > 0) worker.wake()
    if (this.#options.clock.monotonic() - this.#countsFlushedAt < COUNTS_INTERVAL_MS) return
    this.#countsFlushedAt = this.#options.clock.monotonic()
    await this.#flushCounts()
    this.#removeDeleted()
  }

  /** Sends the buffered events without waiting for full batches; drops what is not accepted within the grace period. */
  async stop(graceMs: number): Promise<void> {
    await Promise.all(
      [...this.#buffers.values()].map(async ({ buffer, worker }) => {
        buffer.flush()
        await worker.drain(graceMs)
        buffer.discard()
      }),
    )
    await this.#flushCounts()
  }

  #ensureBuffer({ id, account }: Destination): BufferedDestination {
    const existing = this.#buffers.get(id)
    if (existing !== undefined) return existing
    const { destinations, clock, random, log, limit, onSettled } = this.#options
    const buffer = new TrafficBuffer(this.#budget, limit)
    const worker = new DeliveryWorker({
      queue: buffer,
      destination: () => destinations.get(id),
      clock,
      random,
      log: log.child({ destination: id }),
      onSettled: (result) => onSettled(id, result),
    })
    const entry = { buffer, worker, account }
    this.#buffers.set(id, entry)
    return entry
  }

  /** Adds the counts of this process to the state of each destination in the store. */
  async #flushCounts(): Promise<void> {
    const { queue, clock, onDropped } = this.#options
    for (const [destination, { buffer, account }] of this.#buffers) {
      const counts = buffer.takeCounts()
      if (counts === undefined) continue
      const { dropped, ...rest } = counts
      onDropped(destination, dropped)
      await queue.addCounts({ ...rest, overflowed: dropped, destination, account, now: clock.now() })
    }
  }

  #removeDeleted(): void {
    for (const [id, { buffer, worker }] of this.#buffers) {
      if (this.#options.destinations.get(id) !== undefined) continue
      this.#buffers.delete(id)
      void worker.stop(0).then(() => buffer.discard())
    }
  }
}

import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import { type EventQueue, LeaseLost, type SinkState } from '../../store/index.ts'
import type { Destinations } from '../destinations/destinations.ts'
import { type BatchResult, DeliveryWorker } from './delivery-worker.ts'
import { DurableQueue } from './durable-queue.ts'
import type { Outbox } from './outbox.ts'
import type { Ownership } from './ownership.ts'

const HOUR_MS = 60 * 60 * 1000
const DEAD_LETTER_RETENTION_MS = 30 * 24 * HOUR_MS

export interface DispatcherOptions {
  readonly queue: EventQueue
  readonly outbox: Outbox
  readonly ownership: Ownership
  /** Differs when the database may have new changes or events. */
  readonly version: () => number
  readonly destinations: Destinations
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly onSettled: (destination: string, result: BatchResult) => void
}

interface ServedDestination {
  readonly queue: DurableQueue
  readonly worker: DeliveryWorker
}

/**
 * The work of the one process that holds the lease: turns changes into events and delivers queued events, with one worker
 * for each destination.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #served = new Map<string, ServedDestination>()
  #owning = false
  /** What the database had when all of it was processed and nothing was queued. */
  #idleAt: number | undefined
  #purgedAt = Number.NEGATIVE_INFINITY

  constructor(options: DispatcherOptions) {
    this.#options = options
  }

  /** Whether this process holds the lease. */
  get owning(): boolean {
    return this.#owning
  }

  async tick(): Promise<void> {
    const { ownership, outbox, queue, version, clock } = this.#options
    const lease = await ownership.hold().catch((error) => {
      this.#stepDown()
      throw error
    })
    if (lease === undefined) {
      this.#stepDown()
      return
    }
    const found = version()
    if (!this.#owning || this.#idleAt !== found) {
      try {
        await outbox.advance(lease)
      } catch (error) {
        outbox.reset()
        if (!(error instanceof LeaseLost)) throw error
        return
      }
      this.#owning = true
      const pending = await queue.pendingStates()
      this.#wakeDue(pending)
      this.#idleAt = pending.length === 0 ? found : undefined
    }
    if (clock.monotonic() - this.#purgedAt > HOUR_MS) {
      this.#purgedAt = clock.monotonic()
      await queue.purge(clock.now() - DEAD_LETTER_RETENTION_MS)
    }
    await outbox.prune()
  }

  async stop(graceMs: number): Promise<void> {
    await Promise.all([...this.#served.values()].map(({ worker }) => worker.stop(graceMs)))
    this.#served.clear()
    await this.#options.ownership.release()
  }

  #wakeDue(states: readonly SinkState[]): void {
    const now = this.#options.clock.now()
    const waiting = new Set<string>()
    for (const state of states) {
      waiting.add(state.destination)
      const served = this.#ensureServed(state)
      if (served.queue.observe(state, now)) served.worker.wake()
    }
    for (const [id, { worker }] of this.#served) if (!waiting.has(id) && worker.idle) this.#served.delete(id)
  }

  #ensureServed(state: SinkState): ServedDestination {
    const existing = this.#served.get(state.destination)
    if (existing !== undefined) return existing
    const { queue: eventQueue, destinations, clock, random, log, onSettled } = this.#options
    const queue = new DurableQueue(eventQueue, state)
    const worker = new DeliveryWorker({
      queue,
      destination: () => destinations.get(state.destination),
      clock,
      random,
      log: log.child({ destination: state.destination }),
      onSettled: (result) => onSettled(state.destination, result),
    })
    const served = { queue, worker }
    this.#served.set(state.destination, served)
    return served
  }

  /** Called when the lease is lost or cannot be renewed: batches in flight finish by themselves. */
  #stepDown(): void {
    if (!this.#owning) return
    this.#owning = false
    this.#options.outbox.reset()
    for (const { worker } of this.#served.values()) void worker.stop(HOUR_MS)
    this.#served.clear()
  }
}

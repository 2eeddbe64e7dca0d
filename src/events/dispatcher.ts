import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { type EventQueue, LeaseLost, type SinkState } from '../store/index.ts'
import { Lane, type Settled } from './delivery-worker.ts'
import type { Destinations } from './destinations.ts'
import { DurableQueue } from './durable-queue.ts'
import type { Outbox } from './outbox.ts'
import type { Ownership } from './ownership.ts'

const HOUR = 60 * 60 * 1000
const DEAD_KEPT_MS = 30 * 24 * HOUR

export interface DispatcherOptions {
  readonly queue: EventQueue
  readonly outbox: Outbox
  readonly ownership: Ownership
  readonly destinations: Destinations
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly onSettled: (destination: string, settled: Settled) => void
}

interface Served {
  readonly queue: DurableQueue
  readonly lane: Lane
}

/**
 * The work that one process does for all: turns changes into events and delivers what is queued, a lane for each
 * destination. Whoever holds the lease is that process.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #served = new Map<string, Served>()
  #owning = false
  #cleanedAt = Number.NEGATIVE_INFINITY

  constructor(options: DispatcherOptions) {
    this.#options = options
  }

  /** Whether this is the process that does the work now. */
  get owning(): boolean {
    return this.#owning
  }

  async tick(): Promise<void> {
    const { ownership, outbox, queue, clock } = this.#options
    const lease = await ownership.hold().catch((error) => {
      this.#resign()
      throw error
    })
    if (lease === undefined) {
      this.#resign()
      return
    }
    try {
      await outbox.advance(lease)
    } catch (error) {
      outbox.forget()
      if (!(error instanceof LeaseLost)) throw error
      return
    }
    this.#owning = true
    this.#pokeDue(await queue.pendingStates())
    if (clock.monotonic() - this.#cleanedAt > HOUR) {
      this.#cleanedAt = clock.monotonic()
      await queue.purge(clock.now() - DEAD_KEPT_MS)
      await outbox.prune()
    }
  }

  async stop(graceMs: number): Promise<void> {
    await Promise.all([...this.#served.values()].map(({ lane }) => lane.stop(graceMs)))
    this.#served.clear()
    await this.#options.ownership.release()
  }

  #pokeDue(states: readonly SinkState[]): void {
    const now = this.#options.clock.now()
    const waiting = new Set<string>()
    for (const state of states) {
      waiting.add(state.destination)
      const served = this.#serve(state)
      if (served.queue.observe(state, now)) served.lane.poke()
    }
    for (const [id, { lane }] of this.#served) if (!waiting.has(id) && lane.idle) this.#served.delete(id)
  }

  #serve(state: SinkState): Served {
    const found = this.#served.get(state.destination)
    if (found !== undefined) return found
    const { queue: events, destinations, clock, random, log, onSettled } = this.#options
    const queue = new DurableQueue(events, state)
    const lane = new Lane({
      queue,
      destination: () => destinations.get(state.destination),
      clock,
      random,
      log: log.child({ destination: state.destination }),
      onSettled: (settled) => onSettled(state.destination, settled),
    })
    const served = { queue, lane }
    this.#served.set(state.destination, served)
    return served
  }

  /** Another process does the work now, or nobody can: batches under way end by themselves. */
  #resign(): void {
    if (!this.#owning) return
    this.#owning = false
    this.#options.outbox.forget()
    for (const { lane } of this.#served.values()) void lane.stop(HOUR)
    this.#served.clear()
  }
}

import type { EventQueue, SinkState } from '../../store/index.ts'
import type { BatchLimits } from '../target.ts'
import type { BatchResult, DeliveryQueue, QueuedDelivery } from './delivery-worker.ts'

/** The events of one destination that are queued in the store. */
export class DurableQueue implements DeliveryQueue {
  readonly #queue: EventQueue
  readonly #destination: string
  readonly #account: string
  #state: SinkState
  #seenEnqueued = -1
  #wakeAt = 0

  constructor(queue: EventQueue, state: SinkState) {
    this.#queue = queue
    this.#destination = state.destination
    this.#account = state.account
    this.#state = state
  }

  get goneRevision(): number | undefined {
    return this.#state.goneRevision
  }

  /** Updates the state; returns whether events may be due. */
  observe(state: SinkState, now: number): boolean {
    this.#state = state
    return state.queued > 0 && (now >= this.#wakeAt || state.enqueued !== this.#seenEnqueued)
  }

  async take(
    { maxEvents, maxBytes, lingerMs }: BatchLimits,
    now: number,
  ): Promise<readonly QueuedDelivery[]> {
    if (lingerMs > 0) this.#state = (await this.#queue.state(this.#destination)) ?? this.#state
    const { enqueued, queued, queuedBytes } = this.#state
    this.#seenEnqueued = enqueued
    const full = queued >= maxEvents || queuedBytes >= maxBytes
    const dueBefore = full ? now : now - lingerMs
    const events = await this.#queue.listDue(this.#destination, dueBefore, { limit: maxEvents, maxBytes })
    if (events.length === 0) {
      const next = await this.#queue.nextDueAt(this.#destination)
      this.#wakeAt = next === undefined ? Number.POSITIVE_INFINITY : next + lingerMs
    }
    return events
  }

  async settle(result: BatchResult): Promise<void> {
    await this.#queue.settle({ ...result, destination: this.#destination, account: this.#account })
    const { goneRevision } = result
    if (goneRevision !== undefined) this.#state = { ...this.#state, goneRevision }
  }
}

import type { Clock } from '../../base/values/clock.ts'
import type { EventQueue, QueuedEvent } from '../../store/index.ts'

const MAX_PENDING = 10_000

/** Buffers session events for the durable queue: written in batches, and kept while the store is unavailable. */
export class Inbox {
  readonly #queue: EventQueue
  readonly #clock: Clock
  readonly #limit: number
  readonly #onDropped: (destination: string) => void
  #pending: QueuedEvent[] = []

  constructor(options: {
    queue: EventQueue
    clock: Clock
    limit: number
    onDropped: (destination: string) => void
  }) {
    this.#queue = options.queue
    this.#clock = options.clock
    this.#limit = options.limit
    this.#onDropped = options.onDropped
  }

  add(event: QueuedEvent): void {
    if (this.#pending.length >= MAX_PENDING) this.#onDropped(event.destination)
    else this.#pending.push(event)
  }

  async flush(): Promise<void> {
    const events = this.#pending
    if (events.length === 0) return
    this.#pending = []
    try {
      await this.#queue.add(events, { now: this.#clock.now(), limit: this.#limit })
    } catch (error) {
      this.#pending = [...events, ...this.#pending]
      throw error
    }
  }
}

import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { EventQueue } from '../store/index.ts'
import { Lane, type Settled } from './delivery-worker.ts'
import type { Destination, Destinations } from './destinations.ts'
import { type Budget, TrafficBuffer } from './traffic-buffer.ts'
import type { TrafficEvent } from './traffic-event.ts'

const MAX_BYTES = 64 * 1024 * 1024
const POKE_EVERY = 250
const TALLY_MS = 5000

interface Buffering {
  readonly buffer: TrafficBuffer
  readonly lane: Lane
  account: string
}

export interface TrafficLanesOptions {
  readonly queue: EventQueue
  readonly destinations: Destinations
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  /** Events that may wait for one destination. */
  readonly limit: number
  readonly onSettled: (destination: string, settled: Settled) => void
  readonly onDropped: (destination: string, count: number) => void
}

/** Delivers traffic events from the process in which they arise: a buffer and a lane for each destination. */
export class TrafficLanes {
  readonly #options: TrafficLanesOptions
  readonly #budget: Budget = { bytesLeft: MAX_BYTES }
  readonly #buffers = new Map<string, Buffering>()
  #talliedAt = Number.NEGATIVE_INFINITY

  constructor(options: TrafficLanesOptions) {
    this.#options = options
  }

  /** How many events wait for a destination here. */
  size(destination: string): number {
    return this.#buffers.get(destination)?.buffer.size ?? 0
  }

  *sizes(): Iterable<{ destination: string; size: number }> {
    for (const [destination, { buffer }] of this.#buffers) yield { destination, size: buffer.size }
  }

  /** Whether a destination has room for an event; one that has not counts as dropped. */
  admits(destinationId: string): boolean {
    const destination = this.#options.destinations.get(destinationId)
    return destination !== undefined && this.#buffering(destination).buffer.admits()
  }

  /** Adds an event that was admitted. */
  push(destinationId: string, event: TrafficEvent): void {
    const { buffer, lane } = this.#buffers.get(destinationId)!
    if (buffer.push(event) % POKE_EVERY === 0) lane.poke()
  }

  async tick(): Promise<void> {
    for (const { lane, buffer } of this.#buffers.values()) if (buffer.size > 0) lane.poke()
    if (this.#options.clock.monotonic() - this.#talliedAt < TALLY_MS) return
    this.#talliedAt = this.#options.clock.monotonic()
    await this.#tallyAll()
    this.#forgetGone()
  }

  /** Sends what is there without waiting for full batches; what is not taken within the time is dropped. */
  async stop(graceMs: number): Promise<void> {
    await Promise.all(
      [...this.#buffers.values()].map(async ({ buffer, lane }) => {
        buffer.flush()
        await lane.drain(graceMs)
        buffer.discard()
      }),
    )
    await this.#tallyAll()
  }

  #buffering({ id, account }: Destination): Buffering {
    const found = this.#buffers.get(id)
    if (found !== undefined) return found
    const { destinations, clock, random, log, limit, onSettled } = this.#options
    const buffer = new TrafficBuffer(this.#budget, limit)
    const lane = new Lane({
      queue: buffer,
      destination: () => destinations.get(id),
      clock,
      random,
      log: log.child({ destination: id }),
      onSettled: (settled) => onSettled(id, settled),
    })
    const buffering = { buffer, lane, account }
    this.#buffers.set(id, buffering)
    return buffering
  }

  /** Adds what has happened here to what the store knows of each destination, for all processes to see. */
  async #tallyAll(): Promise<void> {
    const { queue, clock, onDropped } = this.#options
    for (const [destination, { buffer, account }] of this.#buffers) {
      const tally = buffer.takeTally()
      if (tally === undefined) continue
      const { dropped, ...rest } = tally
      onDropped(destination, dropped)
      await queue.addCounts({ ...rest, overflowed: dropped, destination, account, now: clock.now() })
    }
  }

  #forgetGone(): void {
    for (const [id, { buffer, lane }] of this.#buffers) {
      if (this.#options.destinations.get(id) !== undefined) continue
      this.#buffers.delete(id)
      void lane.stop(0).then(() => buffer.discard())
    }
  }
}

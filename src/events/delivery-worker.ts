import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { PendingEvent, Settlement } from '../store/index.ts'
import type { Destination } from './destinations.ts'
import { nextAttempt } from './schedule.ts'
import {
  type BatchLimits,
  DeliveryFailed,
  failed,
  type Outcome,
  type Parcel,
  type Target,
} from './targets/target.ts'

/** An event in a lane, with the attempts made so far, if there were any. */
export type LaneEvent = Parcel & Partial<Pick<PendingEvent, 'attempts'>>

/** What became of one batch, for the queue it came from. */
export type Settled = Omit<Settlement, 'destination' | 'account'>

/** Where a lane takes its events from. */
export interface LaneQueue {
  /** The revision of the destination at which its receiver wanted nothing more. */
  readonly goneRevision: number | undefined
  /** The next batch; empty when there is none yet. */
  take(limits: BatchLimits, now: number): Promise<readonly LaneEvent[]>
  settle(settled: Settled): Promise<void>
}

export interface LaneOptions {
  readonly queue: LaneQueue
  /** As it is configured now; undefined when it is gone. */
  readonly destination: () => Destination | undefined
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly onSettled: (settled: Settled) => void
}

// A sink that takes nothing at all is left alone for a moment that doubles, however much waits for it: trying each event in
// turn would cost more than serving the traffic that they tell of.
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 16_000
const NO_PAUSE = { ms: 0, until: Number.NEGATIVE_INFINITY, revision: 0 }

const NO_TARGET: BatchLimits = {
  maxEvents: 500,
  maxBytes: 1024 * 1024,
  maxEventBytes: Number.POSITIVE_INFINITY,
  lingerMs: 0,
}

/**
 * Delivers the events of one queue to one destination, batch after batch. Each lane works by itself, so that a
 * destination which is slow or stuck holds up nobody else.
 */
export class Lane {
  readonly #options: LaneOptions
  readonly #ending = new AbortController()
  #running: Promise<void> | undefined
  #unsettled: Settled | undefined
  #stopping = false
  #pause = NO_PAUSE

  constructor(options: LaneOptions) {
    this.#options = options
  }

  /** True when nothing is under way and nothing is left to be written down. */
  get idle(): boolean {
    return this.#running === undefined && this.#unsettled === undefined
  }

  /** Looks for something to deliver, unless it is delivering already. */
  poke(): void {
    if (this.#stopping) return
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  /** Takes no further batch, and gives the one under way this long to end. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    const timer = setTimeout(() => this.#ending.abort(), graceMs)
    await this.#running
    clearTimeout(timer)
  }

  /** Delivers what there is, within this time, and stops. */
  async drain(graceMs: number): Promise<void> {
    const timer = setTimeout(() => this.#ending.abort(), graceMs)
    await this.#running
    this.#pause = NO_PAUSE
    this.poke()
    await this.#running
    clearTimeout(timer)
    this.#stopping = true
  }

  async #run(): Promise<void> {
    const { queue, destination: current, clock, log } = this.#options
    try {
      do {
        // Kept while the store is out of order: sending again what was delivered would be worse than waiting.
        await this.#settle()
        const destination = current()
        if (destination === undefined || this.#pauses(destination)) return
        const target = targetOf(destination)
        const batch = await queue.take(target.limits, clock.now())
        if (batch.length === 0) return
        this.#unsettled = await this.#attempt(destination, target, batch)
        await this.#settle()
      } while (!this.#stopping && !this.#ending.signal.aborted)
    } catch (error) {
      log.warn({ reason: (error as Error).message }, 'a delivery is held up and will be tried again')
    }
  }

  async #settle(): Promise<void> {
    if (this.#unsettled === undefined) return
    const settled = this.#unsettled
    await this.#options.queue.settle(settled)
    this.#unsettled = undefined
    this.#options.onSettled(settled)
  }

  async #attempt(destination: Destination, target: Target, batch: readonly LaneEvent[]): Promise<Settled> {
    const { queue, clock, random } = this.#options
    const gone = queue.goneRevision === destination.revision
    const tally = new BatchTally(destination.revision, random)
    const sent: LaneEvent[] = []
    for (const event of batch) {
      const hopeless = hopelessness(event, target.limits, gone)
      if (hopeless === undefined) sent.push(event)
      else tally.add(event, { delivered: false, error: hopeless, final: true }, clock.now())
    }
    const answers = sent.length === 0 ? [] : await deliver(target, sent, this.#ending.signal)
    const now = clock.now()
    for (const [index, event] of sent.entries()) {
      const answer = answers[index] ?? failed(new DeliveryFailed('The target gave no answer.'))
      // What was cut short by our own end says nothing about the receiver.
      if (answer.delivered || !this.#ending.signal.aborted) tally.add(event, answer, now)
    }
    const settled = tally.settled(now)
    this.#pauseAfter(destination, settled)
    return settled
  }

  #pauseAfter({ revision }: Destination, { delivered, failed }: Settled): void {
    const tookNothing = delivered.length === 0 && failed.some(({ dueAt }) => dueAt !== undefined)
    const ms = Math.min(Math.max(this.#pause.ms * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS)
    this.#pause = tookNothing ? { ms, until: this.#options.clock.monotonic() + ms, revision } : NO_PAUSE
  }

  /** Whoever changes a destination does not wait to see whether that helped. */
  #pauses({ revision }: Destination): boolean {
    return revision === this.#pause.revision && this.#options.clock.monotonic() < this.#pause.until
  }
}

function targetOf(destination: Destination): Target {
  try {
    return destination.target()
  } catch (error) {
    const reason = `The destination cannot be used: ${(error as Error).message}`
    return { limits: NO_TARGET, deliver: () => Promise.reject(new DeliveryFailed(reason)) }
  }
}

async function deliver(
  target: Target,
  batch: readonly Parcel[],
  signal: AbortSignal,
): Promise<readonly Outcome[]> {
  try {
    return await target.deliver(batch, signal)
  } catch (error) {
    const outcome = failed(error)
    return batch.map(() => outcome)
  }
}

/** Why sending an event would be in vain. */
function hopelessness(event: Parcel, { maxEventBytes }: BatchLimits, gone: boolean): string | undefined {
  if (gone) return 'The receiver answered 410: it wants no more events until the destination is changed.'
  // A character takes six bytes at most, so that most events need no counting.
  const size = event.size ?? event.body.length
  const large = size * 6 > maxEventBytes && Buffer.byteLength(event.body) > maxEventBytes
  return large ? `The event is larger than the ${maxEventBytes} bytes that the target takes.` : undefined
}

/** Sorts outcomes; events that share a fate share the time of their next attempt, and so their next batch. */
class BatchTally {
  readonly #revision: number
  readonly #random: () => number
  readonly #delivered: string[] = []
  readonly #failed = new Map<string, { ids: string[]; error: string; dueAt: number | undefined }>()
  #gone = false

  constructor(revision: number, random: () => number) {
    this.#revision = revision
    this.#random = random
  }

  add({ id, attempts = 0 }: LaneEvent, outcome: Outcome, now: number): void {
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

  settled(now: number): Settled {
    const goneRevision = this.#gone ? this.#revision : undefined
    return { now, delivered: this.#delivered, failed: [...this.#failed.values()], goneRevision }
  }
}

import type { Clock } from '../clock.ts'
import { fanOut, type OnReceiverError, throwLater } from '../fan-out.ts'

/** Something that must have happened by a certain time. */
export abstract class Timed {
  /** The tick at which `onDeadline` is due; 0 means none. Kept by `Deadlines`. */
  dueAt = 0
  /** The tick in whose slot this item stands, 0 for none. Kept by `Deadlines`. */
  slotAt = 0
  abstract onDeadline(): void
}

const SLOTS = 1024

/**
 * One coarse timer for any number of connections. Moving a deadline further away, which happens at every request, is a
 * plain assignment: the item is looked at when its old time comes and put off again.
 */
export class Deadlines {
  readonly #tickMs: number
  readonly #clock: Clock
  readonly #slots: (Set<Timed> | undefined)[] = new Array(SLOTS)
  #tick = 1
  #lastAt: number
  readonly #onError: OnReceiverError
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Clock, tickMs = 500, onError: OnReceiverError = throwLater) {
    this.#onError = onError
    this.#clock = clock
    this.#tickMs = tickMs
    this.#lastAt = clock.monotonic()
  }

  /** How many ticks have passed; a cheap, coarse clock. */
  get tick(): number {
    return this.#tick
  }

  /** A span of time in ticks, rounded up, so that nothing is cut early. */
  ticks(milliseconds: number): number {
    return Math.ceil(milliseconds / this.#tickMs) + 1
  }

  start(): void {
    if (this.#timer !== undefined) return
    this.#lastAt = this.#clock.monotonic()
    this.#timer = setInterval(() => this.advance(), this.#tickMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Calls `onDeadline` after this many ticks, replacing what was set for the item before. */
  set(item: Timed, ticks: number): void {
    const due = this.#tick + (ticks < SLOTS ? ticks : SLOTS - 1)
    item.dueAt = due
    if (item.slotAt === 0) this.#place(item, due)
    else if (due < item.slotAt) {
      this.#slots[item.slotAt % SLOTS]?.delete(item)
      this.#place(item, due)
    }
  }

  /** Forgets the item altogether. */
  clear(item: Timed): void {
    item.dueAt = 0
    if (item.slotAt === 0) return
    this.#slots[item.slotAt % SLOTS]?.delete(item)
    item.slotAt = 0
  }

  /** Called by the timer. After a pause of the process time goes on gently, so that nobody is cut for our absence. */
  advance(): void {
    const now = this.#clock.monotonic()
    const elapsed = Math.floor((now - this.#lastAt) / this.#tickMs)
    this.#lastAt = elapsed > 2 ? now : this.#lastAt + Math.max(1, elapsed) * this.#tickMs
    for (let n = Math.max(1, Math.min(elapsed, 2)); n > 0; n--) this.#step()
  }

  #step(): void {
    const tick = ++this.#tick
    const slot = this.#slots[tick % SLOTS]
    if (slot === undefined || slot.size === 0) return
    this.#slots[tick % SLOTS] = undefined
    fanOut(slot, (item) => this.#look(item, tick), this.#onError)
  }

  #look(item: Timed, tick: number): void {
    item.slotAt = 0
    if (item.dueAt === 0) return
    if (item.dueAt > tick) this.#place(item, item.dueAt)
    else {
      item.dueAt = 0
      item.onDeadline()
    }
  }

  #place(item: Timed, due: number): void {
    item.slotAt = due
    const slot = this.#slots[due % SLOTS]
    if (slot === undefined) this.#slots[due % SLOTS] = new Set([item])
    else slot.add(item)
  }
}

import { fanOut, type OnReceiverError, rethrowAsync } from '../../limits/fan-out.ts'
import type { Clock } from '../../values/clock.ts'

/** A deadline in a `TimerWheel`. */
export abstract class TimerEntry {
  /** The tick at which `onDeadline` is due; 0 means none. Maintained by `TimerWheel`. */
  dueTick = 0
  /** The tick whose slot holds this entry; 0 means none. Maintained by `TimerWheel`. */
  slotTick = 0
  abstract onDeadline(): void
}

const SLOTS = 1024

/**
 * One coarse timer for any number of connections. Extending a deadline, which happens at every request, is a plain
 * assignment: the wheel moves the entry only when its old slot expires. Node's timers have no way to hold back what fell due
 * while the process was stopped, and take memory for each (decision 151).
 */
export class TimerWheel {
  readonly #tickMs: number
  readonly #clock: Clock
  readonly #slots: (Set<TimerEntry> | undefined)[] = new Array(SLOTS)
  #tick = 1
  #lastAdvance: number
  readonly #onError: OnReceiverError
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Clock, tickMs = 500, onError: OnReceiverError = rethrowAsync) {
    this.#onError = onError
    this.#clock = clock
    this.#tickMs = tickMs
    this.#lastAdvance = clock.monotonic()
  }

  /** The number of ticks so far: a cheap, coarse clock. */
  get tick(): number {
    return this.#tick
  }

  /** Converts a duration to ticks, rounded up so that no deadline fires early. */
  ticks(milliseconds: number): number {
    return Math.ceil(milliseconds / this.#tickMs) + 1
  }

  /** The duration that `ticks` converted. */
  milliseconds(ticks: number): number {
    return (ticks - 1) * this.#tickMs
  }

  start(): void {
    if (this.#timer !== undefined) return
    this.#lastAdvance = this.#clock.monotonic()
    this.#timer = setInterval(() => this.advance(), this.#tickMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Sets the deadline of an entry to this many ticks from now, replacing the previous one. */
  set(entry: TimerEntry, ticks: number): void {
    const due = this.#tick + (ticks < SLOTS ? ticks : SLOTS - 1)
    entry.dueTick = due
    if (entry.slotTick === 0) this.#insert(entry, due)
    else if (due < entry.slotTick) {
      this.#slots[entry.slotTick % SLOTS]?.delete(entry)
      this.#insert(entry, due)
    }
  }

  /** Removes the entry. */
  clear(entry: TimerEntry): void {
    entry.dueTick = 0
    if (entry.slotTick === 0) return
    this.#slots[entry.slotTick % SLOTS]?.delete(entry)
    entry.slotTick = 0
  }

  /** Called by the timer. After a pause of the process it advances by two ticks at most, so that deadlines do not all fire. */
  advance(): void {
    const now = this.#clock.monotonic()
    const elapsed = Math.floor((now - this.#lastAdvance) / this.#tickMs)
    this.#lastAdvance = elapsed > 2 ? now : this.#lastAdvance + Math.max(1, elapsed) * this.#tickMs
    for (let n = Math.max(1, Math.min(elapsed, 2)); n > 0; n--) this.#step()
  }

  #step(): void {
    const tick = ++this.#tick
    const slot = this.#slots[tick % SLOTS]
    if (slot === undefined || slot.size === 0) return
    this.#slots[tick % SLOTS] = undefined
    fanOut(slot, (entry) => this.#expire(entry, tick), this.#onError)
  }

  #expire(entry: TimerEntry, tick: number): void {
    entry.slotTick = 0
    if (entry.dueTick === 0) return
    if (entry.dueTick > tick) this.#insert(entry, entry.dueTick)
    else {
      entry.dueTick = 0
      entry.onDeadline()
    }
  }

  #insert(entry: TimerEntry, due: number): void {
    entry.slotTick = due
    const slot = this.#slots[due % SLOTS]
    if (slot === undefined) this.#slots[due % SLOTS] = new Set([entry])
    else slot.add(entry)
  }
}

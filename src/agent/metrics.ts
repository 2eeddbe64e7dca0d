import type { Clock } from '../base/values/clock.ts'

const TICK_MS = 5000

/**
 * Events per second as an exponentially weighted moving average over a number of minutes; missed ticks are applied on
 * use, so no timer runs.
 */
class Rate {
  readonly #decay: number
  #perSecond = 0
  #pending = 0
  #started = false

  constructor(minutes: number) {
    this.#decay = Math.exp(-TICK_MS / 60_000 / minutes)
  }

  mark(): void {
    this.#pending++
  }

  tick(times: number): void {
    const instant = (this.#pending * 1000) / TICK_MS
    this.#pending = 0
    // The first tick takes the instant rate as it is: there is no history to weigh it against.
    this.#perSecond = this.#started ? instant + (this.#perSecond - instant) * this.#decay : instant
    this.#started = true
    if (times > 1) this.#perSecond *= this.#decay ** (times - 1)
  }

  get perSecond(): number {
    return this.#perSecond
  }
}

const SAMPLES = 1028
const ALPHA = 0.015

/**
 * A sample of the observed values that favours recent ones (exponential decay). Priorities are stored as logarithms,
 * so they never overflow and need no rescaling however long the agent runs.
 */
class Reservoir {
  readonly #priorities = new Float64Array(SAMPLES)
  readonly #values = new Float64Array(SAMPLES)
  #size = 0

  add(value: number, seconds: number): void {
    const priority = ALPHA * seconds - Math.log(1 - Math.random())
    if (this.#size < SAMPLES) {
      this.#siftUp(this.#size++, priority, value)
    } else if (priority > this.#priorities[0]!) {
      this.#siftDown(priority, value)
    }
  }

  percentiles(...shares: number[]): number[] {
    const sorted = this.#values.slice(0, this.#size).sort()
    return shares.map((share) => {
      const position = share * (sorted.length + 1)
      if (sorted.length === 0) return 0
      if (position < 1) return sorted[0]!
      if (position >= sorted.length) return sorted.at(-1)!
      const lower = sorted[Math.floor(position) - 1]!
      return lower + (position - Math.floor(position)) * (sorted[Math.floor(position)]! - lower)
    })
  }

  #siftUp(start: number, priority: number, value: number): void {
    let index = start
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (this.#priorities[parent]! <= priority) break
      this.#move(parent, index)
      index = parent
    }
    this.#set(index, priority, value)
  }

  #siftDown(priority: number, value: number): void {
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= this.#size) break
      if (child + 1 < this.#size && this.#priorities[child + 1]! < this.#priorities[child]!) child++
      if (this.#priorities[child]! >= priority) break
      this.#move(child, index)
      index = child
    }
    this.#set(index, priority, value)
  }

  #move(from: number, to: number): void {
    this.#priorities[to] = this.#priorities[from]!
    this.#values[to] = this.#values[from]!
  }

  #set(index: number, priority: number, value: number): void {
    this.#priorities[index] = priority
    this.#values[index] = value
  }
}

/** A meter as the local API shows it: rates per second, percentiles in nanoseconds. */
export interface MeterSnapshot {
  count: number
  rate1: number
  rate5: number
  rate15: number
  p50: number
  p90: number
  p95: number
  p99: number
}

/** Counts and times events. */
export class Meter {
  readonly #clock: Clock
  readonly #rates = [new Rate(1), new Rate(5), new Rate(15)] as const
  readonly #durations = new Reservoir()
  #count = 0
  #active = 0
  #lastTick: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#lastTick = clock.monotonic()
  }

  /** Starts an event; returns the start time to pass to `end`. */
  begin(): number {
    const now = this.#catchUp()
    this.#count++
    this.#active++
    for (const rate of this.#rates) rate.mark()
    return now
  }

  /** Ends an event and records its duration. */
  end(startedAt: number): void {
    const now = this.#catchUp()
    this.#active--
    this.#durations.add((now - startedAt) * 1e6, now / 1000)
  }

  /** Ends an event without recording its duration, which would be meaningless. */
  drop(): void {
    this.#active--
  }

  get count(): number {
    return this.#count
  }

  /** Events in progress. */
  get gauge(): number {
    return this.#active
  }

  snapshot(): MeterSnapshot {
    this.#catchUp()
    const [rate1, rate5, rate15] = this.#rates
    // Whole nanoseconds: API clients expect integers.
    const [p50, p90, p95, p99] = this.#durations.percentiles(0.5, 0.9, 0.95, 0.99).map(Math.round) as [
      number,
      number,
      number,
      number,
    ]
    return {
      count: this.#count,
      rate1: rate1.perSecond,
      rate5: rate5.perSecond,
      rate15: rate15.perSecond,
      p50,
      p90,
      p95,
      p99,
    }
  }

  #catchUp(): number {
    const now = this.#clock.monotonic()
    const ticks = Math.floor((now - this.#lastTick) / TICK_MS)
    if (ticks > 0) {
      this.#lastTick += ticks * TICK_MS
      for (const rate of this.#rates) rate.tick(ticks)
    }
    return now
  }
}

import type { Clock } from '../base/clock.ts'
import type { ByteStream } from '../base/io/stream.ts'
import {
  ErrorCode,
  HeartbeatTimeout,
  MuxError,
  type ProxyHeader,
  type ServedSession,
} from '../protocol/index.ts'
import { AgentStreams, type StreamLimits } from './agent-streams.ts'

/** Times after which legs are checked and closed. */
export interface LegTimes {
  /** A leg that was silent for this long is asked for a sign of life when a stream is opened. */
  readonly quietMs: number
  /** Legs beyond the first are closed when no stream was opened for this long: an idle agent costs one connection. */
  readonly idleMs: number
}

const TIMES: LegTimes = { quietMs: 2000, idleMs: 300_000 }

/** What a leg says about itself in the API. */
export interface LegView {
  readonly ip: string
  readonly region: string
  readonly startedAt: number
}

/** One authenticated connection of an agent's session, at this process. */
export class Leg implements LegView {
  /** The agent's number of the leg: a leg that reconnects keeps it. */
  readonly number: number
  readonly ip: string
  readonly region: string
  readonly startedAt: number
  readonly session: ServedSession
  readonly streams: AgentStreams
  /** Whether an answer to a beat is outstanding. */
  suspect = false
  readonly #toleranceMs: number

  constructor(
    session: ServedSession,
    view: LegView & { readonly number: number },
    limits: StreamLimits,
    toleranceMs: number,
  ) {
    this.session = session
    this.number = view.number
    this.ip = view.ip
    this.region = view.region
    this.startedAt = view.startedAt
    this.streams = new AgentStreams(session, limits)
    this.#toleranceMs = toleranceMs
  }

  /** Asks the agent for a sign of life; streams prefer other legs until it comes. Without one the leg is closed. */
  check(): void {
    if (this.suspect) return
    this.suspect = true
    void this.session.probe(this.#toleranceMs).then((alive) => {
      this.suspect = false
      if (!alive) this.session.destroy(new HeartbeatTimeout(this.#toleranceMs))
    })
  }
}

/** The legs of one session at this process. A stream is opened on the leg with the fewest, among those that answer. */
export class Legs {
  readonly #clock: Clock
  readonly #onLastClosed: (error: Error | undefined) => void
  readonly #times: LegTimes
  #legs: readonly Leg[] = []
  #lastOpenedAt = 0
  #idleTimer: NodeJS.Timeout | undefined

  /** `onLastClosed`: the last leg closed, with the error that ended it unless the end was clean. */
  constructor(clock: Clock, onLastClosed: (error: Error | undefined) => void, times: LegTimes = TIMES) {
    this.#clock = clock
    this.#onLastClosed = onLastClosed
    this.#times = times
  }

  get all(): readonly Leg[] {
    return this.#legs
  }

  /** The leg for commands: the oldest that answers. */
  get first(): Leg | undefined {
    return this.#legs.find(({ session, suspect }) => !session.closed && !suspect) ?? this.#legs[0]
  }

  /** Adds a leg; the one with the same number, which its agent has lost, is closed. */
  add(leg: Leg): void {
    const replaced = this.#legs.find(({ number }) => number === leg.number)
    this.#legs = [...this.#legs.filter((each) => each !== replaced), leg]
    replaced?.session.close(ErrorCode.NoError, 'The agent has connected this leg again.')
    this.#lastOpenedAt = this.#clock.monotonic()
    if (this.#legs.length > 1) this.#idleTimer ??= this.#checkIdleLater(this.#times.idleMs)
  }

  /** Removes a leg whose connection has closed. */
  remove(leg: Leg, error: Error | undefined): void {
    leg.streams.close(error ?? new MuxError(ErrorCode.SessionClosed, 'The session is closed.'))
    if (!this.#legs.includes(leg)) return
    this.#legs = this.#legs.filter((each) => each !== leg)
    if (this.#legs.length > 1) return
    clearTimeout(this.#idleTimer)
    this.#idleTimer = undefined
    if (this.#legs.length === 0) this.#onLastClosed(error)
  }

  /** Whether the agent answers on any leg within the timeout. */
  async probe(timeoutMs: number): Promise<boolean> {
    const answers = this.#legs.map(async ({ session }) => {
      if (!(await session.probe(timeoutMs))) throw new HeartbeatTimeout(timeoutMs)
    })
    return Promise.any(answers).then(
      () => true,
      () => false,
    )
  }

  /** Throws `TunnelBusy` when the leg with the fewest streams is at its limit and its queue is full. */
  open(header: ProxyHeader, preamble: Buffer | undefined): ByteStream {
    return this.#select().streams.open(header, preamble)
  }

  close(code: number, reason: string): void {
    for (const { session } of this.#legs) session.close(code, reason)
  }

  destroy(error: Error): void {
    for (const { session } of this.#legs) session.destroy(error)
  }

  #select(): Leg {
    const [first] = this.#legs
    if (first === undefined) throw new MuxError(ErrorCode.SessionClosed, 'The session is closed.')
    // Most agents have one.
    if (this.#legs.length === 1) return first
    const now = this.#clock.monotonic()
    this.#lastOpenedAt = now
    let best = first
    for (const leg of this.#legs) {
      if (now - leg.session.lastReceivedAt > this.#times.quietMs) leg.check()
      if (isBetter(leg, best)) best = leg
    }
    return best
  }

  #checkIdleLater(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const remainingMs = this.#lastOpenedAt + this.#times.idleMs - this.#clock.monotonic()
      if (remainingMs <= 0) this.#closeIdle()
      this.#idleTimer =
        this.#legs.length > 1
          ? this.#checkIdleLater(remainingMs > 0 ? remainingMs : this.#times.idleMs)
          : undefined
    }, delayMs).unref()
  }

  /** Only this side opens streams, so no visitor can be on a leg that it finds without any. */
  #closeIdle(): void {
    for (const { session } of this.#legs.slice(1))
      if (session.openedCount === 0) session.close(ErrorCode.NoError, 'The leg was idle.')
  }
}

function isBetter(leg: Leg, other: Leg): boolean {
  if (leg.session.closed !== other.session.closed) return other.session.closed
  if (leg.suspect !== other.suspect) return other.suspect
  return leg.session.openedCount < other.session.openedCount
}

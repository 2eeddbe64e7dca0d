import type { WindowBudget } from '../../base/io/memory/window-budget.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import type { Clock } from '../../base/values/clock.ts'
import {
  ErrorCode,
  HeartbeatTimeout,
  MuxError,
  type ProxyHeader,
  proxyProtocolHeader,
  type ServedSession,
} from '../../protocol/index.ts'
import type { ClientInfo, EndpointOptions } from '../tunnel.ts'
import { AgentStreams, type StreamLimits } from './agent-streams.ts'
import { ProbedStream } from './probed-stream.ts'

/** Times by which legs are chosen, checked and closed. */
export interface LegTimes {
  /** A leg that was silent for this long is asked for a sign of life when a stream is opened. */
  readonly quietMs: number
  /** Legs beyond the first are closed when no stream was opened for this long: an idle agent costs one connection. */
  readonly idleMs: number
  /** Legs with a shorter round trip than this are filled one after the other, and may take as long to answer. */
  readonly shortRoundTripMs: number
  /** A leg that takes longer for its sign of life is left by the connections that are pooled on it. */
  readonly answerMs: number
}

const TIMES: LegTimes = { quietMs: 2000, idleMs: 300_000, shortRoundTripMs: 10, answerMs: 1000 }

/**
 * So many streams share a leg before the next one is used. Streams that share a leg share its records and system calls,
 * which saves a tenth of a small request's processor time. Over a long link, where a lost packet delays all that follows
 * on its leg, streams spread over the legs instead.
 */
const STREAMS_PER_SHORT_LEG = 64

export interface LegsOptions {
  readonly clock: Clock
  readonly times?: Partial<LegTimes> | undefined
  /** The legs that stay open without a stream: one at the session's home, none at others. */
  readonly minLegs: 0 | 1
  /** A leg was added or removed. */
  onChange(): void
  /** The last leg closed, with the error that ended it unless the end was clean. */
  onLastClosed(error: Error | undefined): void
}

/** What the header of a stream says of its tunnel. */
interface BoundTunnel {
  readonly bindId: string
  readonly options: EndpointOptions
}

const EDGE_TYPES: Record<ClientInfo['via'], string> = {
  endpoint: '0',
  'tcp-edge': '1',
  'tls-edge': '2',
  'https-edge': '3',
}

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
  /** When it was asked for a sign of life, and the answer, while that is outstanding. */
  #check: { readonly startedAt: number; readonly answer: Promise<boolean> } | undefined
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

  /** Whether an answer to a beat is outstanding. */
  get suspect(): boolean {
    return this.#check !== undefined
  }

  /**
   * Asks the agent for a sign of life; streams prefer other legs until it comes. `onLate` is called when it takes longer than
   * `answerMs`. Without one the leg is closed.
   */
  check(now: number, answerMs: number, onAnswer: () => void, onLate: () => void): void {
    if (this.#check !== undefined) return
    const late = setTimeout(onLate, answerMs).unref()
    const answer = this.session.probe(this.#toleranceMs).then((alive) => {
      clearTimeout(late)
      this.#check = undefined
      if (alive) onAnswer()
      else this.session.destroy(new HeartbeatTimeout(this.#toleranceMs))
      return alive
    })
    this.#check = { startedAt: now, answer }
  }

  /** The answer that is outstanding, if it was asked for no earlier than this. */
  probeSince(startedAt: number): Promise<boolean> | undefined {
    return this.#check !== undefined && this.#check.startedAt >= startedAt ? this.#check.answer : undefined
  }
}

/** The legs of one session at this process. A stream is opened on the one with the least load, among those that answer. */
export class Legs {
  readonly #options: LegsOptions
  readonly #times: LegTimes
  #legs: readonly Leg[] = []
  #windows: WindowBudget | undefined
  #lastOpenedAt = 0
  #revision = 0
  /** Whether the next answer of a leg opens a better way: streams were relayed, or are on a leg that does not answer. */
  #awaitsAnswer = false
  #idleTimer: NodeJS.Timeout | undefined

  constructor(options: LegsOptions) {
    this.#options = options
    this.#times = { ...TIMES, ...options.times }
  }

  /** The budget of the session within that of the process: the windows of all its legs share it. */
  shareWindows(windows: WindowBudget): WindowBudget {
    this.#windows ??= windows.forSession()
    return this.#windows
  }

  get all(): readonly Leg[] {
    return this.#legs
  }

  /**
   * Grows when new streams may take a better way than those that are open: a leg was added, answers after streams were relayed, or does
   * not answer while another way is there. Who asks is about to use an open stream, so that legs that were silent are checked.
   */
  get revision(): number {
    if (this.#legs.length > this.#options.minLegs) this.#checkQuiet(this.#options.clock.monotonic())
    return this.#revision
  }

  /** Whether a stream is open on any of them. */
  get isBusy(): boolean {
    return this.#legs.some(({ session }) => session.openedCount > 0)
  }

  /** The leg for commands: the oldest that answers. */
  get first(): Leg | undefined {
    return this.#legs.find(({ session, suspect }) => !session.closed && !suspect) ?? this.#legs[0]
  }

  /** Adds a leg; the one with the same number, which its agent has lost, is closed. */
  add(leg: Leg): void {
    const replaced = this.#legs.find(({ number }) => number === leg.number)
    this.#legs = [...this.#legs.filter((each) => each !== replaced), leg]
    this.#revision++
    replaced?.session.close(ErrorCode.NoError, 'The agent has connected this leg again.')
    this.#lastOpenedAt = this.#options.clock.monotonic()
    if (this.#legs.length > this.#options.minLegs)
      this.#idleTimer ??= this.#checkIdleLater(this.#times.idleMs)
    this.#options.onChange()
  }

  /** Removes a leg whose connection has closed. */
  remove(leg: Leg, error: Error | undefined): void {
    leg.streams.close(error ?? new MuxError(ErrorCode.SessionClosed, 'The session is closed.'))
    if (!this.#legs.includes(leg)) return
    this.#legs = this.#legs.filter((each) => each !== leg)
    if (this.#legs.length <= this.#options.minLegs) {
      clearTimeout(this.#idleTimer)
      this.#idleTimer = undefined
    }
    this.#options.onChange()
    if (this.#legs.length === 0) this.#options.onLastClosed(error)
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

  /** Throws `TunnelBusy` when the leg with the least load is at its limit and its queue is full. */
  open(tunnel: BoundTunnel, client: ClientInfo): ByteStream {
    const [first] = this.#legs
    // Most agents have one.
    const leg = this.#legs.length === 1 ? first : this.#select()
    if (leg === undefined) throw new MuxError(ErrorCode.SessionClosed, 'The session is closed.')
    return openOn(leg, tunnel, client)
  }

  /**
   * Opens the stream on a leg that answers, otherwise through the relay. A leg that was silent and is near has a moment to
   * answer: a stream stays on the way that it began with, and the relay costs as much again.
   */
  openOrRelay(tunnel: BoundTunnel, client: ClientInfo, relay: () => ByteStream): ByteStream {
    const leg = this.#select()
    if (leg === undefined || leg.session.closed) return relay()
    if (!leg.suspect) return openOn(leg, tunnel, client)
    const { shortRoundTripMs } = this.#times
    const { roundTripMs = 0 } = leg.session
    const answer = leg.probeSince(this.#lastOpenedAt - shortRoundTripMs)
    if (answer === undefined || roundTripMs >= shortRoundTripMs) return this.#openRelay(relay)
    return new ProbedStream(answer, shortRoundTripMs, (answered) =>
      answered && !leg.session.closed ? openOn(leg, tunnel, client) : this.#openRelay(relay),
    )
  }

  close(code: number, reason: string): void {
    for (const { session } of this.#legs) session.close(code, reason)
  }

  destroy(error: Error): void {
    for (const { session } of this.#legs) session.destroy(error)
  }

  #openRelay(relay: () => ByteStream): ByteStream {
    this.#awaitsAnswer = true
    return relay()
  }

  #select(): Leg | undefined {
    let [best] = this.#legs
    if (best === undefined) return undefined
    const now = this.#options.clock.monotonic()
    this.#lastOpenedAt = now
    this.#checkQuiet(now)
    for (const leg of this.#legs) if (this.#isBetter(leg, best)) best = leg
    return best
  }

  #checkQuiet(now: number): void {
    const { quietMs, answerMs } = this.#times
    for (const leg of this.#legs)
      if (now - leg.session.lastReceivedAt > quietMs)
        leg.check(
          now,
          answerMs,
          () => this.#onAnswer(),
          () => this.#onLate(),
        )
  }

  #onLate(): void {
    const hasRelay = this.#options.minLegs === 0
    if (hasRelay || this.#legs.some(({ suspect }) => !suspect)) this.#revision++
    else this.#awaitsAnswer = true
  }

  #onAnswer(): void {
    if (!this.#awaitsAnswer) return
    this.#awaitsAnswer = false
    this.#revision++
  }

  #isBetter(leg: Leg, other: Leg): boolean {
    if (leg.session.closed !== other.session.closed) return other.session.closed
    if (leg.suspect !== other.suspect) return other.suspect
    return this.#loadOf(leg) < this.#loadOf(other)
  }

  #loadOf({ session: { openedCount, roundTripMs } }: Leg): number {
    const isShort = roundTripMs !== undefined && roundTripMs < this.#times.shortRoundTripMs
    return isShort ? Math.floor(openedCount / STREAMS_PER_SHORT_LEG) : openedCount
  }

  #checkIdleLater(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const remainingMs = this.#lastOpenedAt + this.#times.idleMs - this.#options.clock.monotonic()
      if (remainingMs <= 0) this.#closeIdle()
      this.#idleTimer =
        this.#legs.length > this.#options.minLegs
          ? this.#checkIdleLater(remainingMs > 0 ? remainingMs : this.#times.idleMs)
          : undefined
    }, delayMs).unref()
  }

  /** Only this side opens streams, so no visitor can be on a leg that it finds without any. */
  #closeIdle(): void {
    for (const { session } of this.#legs.slice(this.#options.minLegs))
      if (session.openedCount === 0) session.close(ErrorCode.NoError, 'The leg was idle.')
  }
}

function openOn(leg: Leg, tunnel: BoundTunnel, client: ClientInfo): ByteStream {
  leg.session.refreshRoundTrip()
  const { proxyProto } = tunnel.options
  const header: ProxyHeader = {
    Id: tunnel.bindId,
    ClientAddr: client.clientAddress,
    Proto: client.proto,
    EdgeType: EDGE_TYPES[client.via],
    PassthroughTLS: client.passthroughTls,
  }
  const preamble =
    proxyProto === 0 ? undefined : proxyProtocolHeader(proxyProto, client.clientAddress, client.serverAddress)
  return leg.streams.open(header, preamble)
}

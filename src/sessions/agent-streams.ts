import type { ByteStream } from '../base/io/stream.ts'
import {
  ErrorCode,
  MuxError,
  type MuxStream,
  type ProxyHeader,
  type ServedSession,
} from '../protocol/index.ts'
import { HeldStream, type StreamOpener } from './pending-stream.ts'
import { TunnelBusy } from './tunnel.ts'

/** How an agent wants its streams opened. */
export interface StreamLimits {
  /** Streams open at once, those of the agent included: the Rust SDKs lose the whole session at the 512th. */
  maxStreams: number
  /** Openings under way that the agent has not answered with any frame: the Go SDK refuses bursts. */
  maxUnacknowledged: number
  /** For this long to twice as long after its end, a stream may still have its place at the agent. 0: not at all. */
  lingerMs: number
}

const MAX_QUEUED = 256
const QUEUE_TIMEOUT_MS = 10_000

/** After this long an opening counts as seen, so that an agent that answers nothing is not paced for ever. */
const ACK_TIMEOUT_MS = 1000

/** Pause before an opening is tried again that the agent refused for lack of room. */
const RETRY_DELAY_MS = 5

/** Opens proxied streams of one session within what its agent can bear; a bounded number waits for room. */
export class AgentStreams implements StreamOpener {
  readonly #session: ServedSession
  readonly #limits: StreamLimits
  /** In the order of arrival, each with the timer that ends its patience. */
  readonly #queue = new Map<HeldStream, NodeJS.Timeout>()
  readonly #paced: boolean
  #unacknowledged = 0
  // Streams that ended in the current and in the last period of `lingerMs`.
  #endedThisPeriod = 0
  #endedLastPeriod = 0
  #periodTimer: NodeJS.Timeout | undefined

  constructor(session: ServedSession, limits: StreamLimits) {
    this.#session = session
    this.#limits = limits
    this.#paced = Number.isFinite(limits.maxUnacknowledged)
  }

  /** Throws `TunnelBusy` when too many wait already. */
  open(header: ProxyHeader, preamble: Buffer | undefined): ByteStream {
    const hasCapacity = this.#queue.size === 0 && this.#hasCapacity()
    // The usual case costs nothing: the stream itself is handed out.
    if (hasCapacity && !this.#paced) return this.#session.openProxy(header, preamble)
    if (this.#session.over) throw new MuxError(ErrorCode.SessionClosed, 'The session is over.')
    if (!hasCapacity && this.#queue.size >= MAX_QUEUED) {
      throw new TunnelBusy(
        `The agent has ${this.#session.streamCount} connections open and ${MAX_QUEUED} wait.`,
      )
    }
    const stream = new HeldStream(this, this.#paced, header, preamble)
    if (hasCapacity) this.#attach(stream)
    else this.#enqueue(stream)
    return stream
  }

  /** So many streams ended. */
  onStreamsClosed(count: number): void {
    if (this.#limits.lingerMs > 0) {
      this.#endedThisPeriod += count
      this.#periodTimer ??= setTimeout(() => this.#nextPeriod(), this.#limits.lingerMs)
    }
    this.#drainQueue()
  }

  #nextPeriod(): void {
    this.#endedLastPeriod = this.#endedThisPeriod
    this.#endedThisPeriod = 0
    this.#periodTimer =
      this.#endedLastPeriod === 0 ? undefined : setTimeout(() => this.#nextPeriod(), this.#limits.lingerMs)
    this.#drainQueue()
  }

  /** Opens those that have waited longest, as far as there is room. */
  #drainQueue(): void {
    for (const [stream, timer] of this.#queue) {
      if (!this.#hasCapacity()) return
      clearTimeout(timer)
      this.#queue.delete(stream)
      this.#attach(stream)
    }
  }

  /** The session is over. */
  close(error: Error): void {
    clearTimeout(this.#periodTimer)
    for (const [stream, timer] of this.#queue) {
      clearTimeout(timer)
      stream.fail(error)
    }
    this.#queue.clear()
  }

  again(stream: HeldStream): void {
    setTimeout(() => {
      if (stream.closed) return
      if (this.#session.over) stream.fail(new MuxError(ErrorCode.SessionClosed, 'The session is over.'))
      else if (this.#hasCapacity()) this.#attach(stream)
      else this.#enqueue(stream)
    }, RETRY_DELAY_MS)
  }

  leave(stream: HeldStream): void {
    clearTimeout(this.#queue.get(stream))
    this.#queue.delete(stream)
  }

  #hasCapacity(): boolean {
    const inUse = this.#session.streamCount + this.#endedThisPeriod + this.#endedLastPeriod
    return inUse < this.#limits.maxStreams && this.#unacknowledged < this.#limits.maxUnacknowledged
  }

  #enqueue(stream: HeldStream): void {
    const timer = setTimeout(() => {
      this.#queue.delete(stream)
      stream.fail(
        new TunnelBusy(`No connection to the agent became free within ${QUEUE_TIMEOUT_MS / 1000} s.`),
      )
    }, QUEUE_TIMEOUT_MS)
    this.#queue.set(stream, timer)
  }

  #attach(stream: HeldStream): void {
    const inner = this.#session.openProxy(stream.header, stream.preamble)
    if (this.#paced) this.#trackAcknowledgement(stream, inner)
    stream.attach(inner)
  }

  /** Counts an opening until the agent has shown any sign of having seen it. */
  #trackAcknowledgement(stream: HeldStream, inner: MuxStream): void {
    this.#unacknowledged++
    let counted = true
    const uncount = () => {
      if (!counted) return
      counted = false
      clearTimeout(timer)
      this.#unacknowledged--
      if (this.#queue.size > 0) this.#drainQueue()
    }
    const acknowledge = () => {
      uncount()
      stream.acknowledge()
    }
    const timer = setTimeout(acknowledge, ACK_TIMEOUT_MS)
    inner.onAcknowledged = acknowledge
    stream.onInnerClose = uncount
  }
}

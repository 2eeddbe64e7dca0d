import type { ByteStream } from '../../base/io/streams/stream.ts'
import {
  ErrorCode,
  MuxError,
  type MuxStream,
  type ProxyHeader,
  type ServedSession,
} from '../../protocol/index.ts'
import { TunnelBusy } from '../tunnel.ts'
import { PendingStream, type StreamOpener } from './pending-stream.ts'

/** Stream limits of a kind of agent. */
export interface StreamLimits {
  /** Open streams of both sides: the Rust SDKs lose the whole session at the 512th. */
  maxStreams: number
  /** Opens the agent has not answered with any frame: the Go SDK rejects bursts. */
  maxUnacknowledged: number
  /** A closed stream still counts for once to twice this time, because the agent notices the end late. 0: never. */
  lingerMs: number
}

const MAX_QUEUED = 256
const QUEUE_TIMEOUT_MS = 10_000

/** After this long an open counts as acknowledged, so an agent that answers nothing is not paced for ever. */
const ACK_TIMEOUT_MS = 1000

/** Delay before an open that the agent rejected for lack of room is retried. */
const RETRY_DELAY_MS = 5

/** Opens proxied streams of one session within the limits of its agent; queues a bounded number of others. */
export class AgentStreams implements StreamOpener {
  readonly #session: ServedSession
  readonly #limits: StreamLimits
  /** In order of arrival, each with its timeout. */
  readonly #queue = new Map<PendingStream, NodeJS.Timeout>()
  readonly #paced: boolean
  #unacknowledged = 0
  // Streams that closed in the current and in the previous period of `lingerMs`.
  #endedThisPeriod = 0
  #endedLastPeriod = 0
  #periodTimer: NodeJS.Timeout | undefined

  constructor(session: ServedSession, limits: StreamLimits) {
    this.#session = session
    this.#limits = limits
    this.#paced = Number.isFinite(limits.maxUnacknowledged)
  }

  /** Throws `TunnelBusy` when the queue is full. */
  open(header: ProxyHeader, preamble: Buffer | undefined): ByteStream {
    const hasCapacity = this.#queue.size === 0 && this.#hasCapacity()
    // Fast path: the mux stream itself, without a wrapper.
    if (hasCapacity && !this.#paced) return this.#session.openProxy(header, preamble)
    if (this.#session.closed) throw new MuxError(ErrorCode.SessionClosed, 'The session is closed.')
    if (!hasCapacity && this.#queue.size >= MAX_QUEUED) {
      throw new TunnelBusy(
        `The agent has ${this.#session.streamCount} connections open and ${MAX_QUEUED} wait.`,
      )
    }
    const stream = new PendingStream(this, this.#paced, header, preamble)
    if (hasCapacity) this.#attach(stream)
    else this.#enqueue(stream)
    return stream
  }

  /** `count` streams closed. */
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

  /** Opens queued streams, oldest first, while there is capacity. */
  #drainQueue(): void {
    for (const [stream, timer] of this.#queue) {
      if (!this.#hasCapacity()) return
      clearTimeout(timer)
      this.#queue.delete(stream)
      this.#attach(stream)
    }
  }

  /** The session closed: fails every queued stream. */
  close(error: Error): void {
    clearTimeout(this.#periodTimer)
    for (const [stream, timer] of this.#queue) {
      clearTimeout(timer)
      stream.fail(error)
    }
    this.#queue.clear()
  }

  retry(stream: PendingStream): void {
    setTimeout(() => {
      if (stream.closed) return
      if (this.#session.closed) stream.fail(new MuxError(ErrorCode.SessionClosed, 'The session is closed.'))
      else if (this.#hasCapacity()) this.#attach(stream)
      else this.#enqueue(stream)
    }, RETRY_DELAY_MS)
  }

  cancel(stream: PendingStream): void {
    clearTimeout(this.#queue.get(stream))
    this.#queue.delete(stream)
  }

  #hasCapacity(): boolean {
    const inUse = this.#session.streamCount + this.#endedThisPeriod + this.#endedLastPeriod
    return inUse < this.#limits.maxStreams && this.#unacknowledged < this.#limits.maxUnacknowledged
  }

  #enqueue(stream: PendingStream): void {
    const timer = setTimeout(() => {
      this.#queue.delete(stream)
      stream.fail(
        new TunnelBusy(`No connection to the agent became free within ${QUEUE_TIMEOUT_MS / 1000} s.`),
      )
    }, QUEUE_TIMEOUT_MS)
    this.#queue.set(stream, timer)
  }

  #attach(stream: PendingStream): void {
    const inner = this.#session.openProxy(stream.header, stream.preamble)
    if (this.#paced) this.#trackAcknowledgement(stream, inner)
    stream.attach(inner)
  }

  /** Counts an open as unacknowledged until the agent sends any frame on it, or the timeout passes. */
  #trackAcknowledgement(stream: PendingStream, inner: MuxStream): void {
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
      stream.confirm()
    }
    const timer = setTimeout(acknowledge, ACK_TIMEOUT_MS)
    inner.onAcknowledged = acknowledge
    stream.onInnerClose = uncount
  }
}

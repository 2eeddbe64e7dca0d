import type { ByteStream } from '../base/io/stream.ts'
import {
  ErrorCode,
  MuxError,
  type MuxStream,
  type ProxyHeader,
  type ServedSession,
} from '../protocol/index.ts'
import { HeldStream, type Opener } from './pending-stream.ts'
import { TunnelBusy } from './tunnel.ts'

/** How an agent wants its streams opened. */
export interface StreamLimits {
  /** Streams open at once, those of the agent included: the Rust SDKs lose the whole session at the 512th. */
  cap: number
  /** Openings under way that the agent has not answered with any frame: the Go SDK refuses bursts. */
  unseen: number
  /** For this long to twice as long after its end, a stream may still have its place at the agent. 0: not at all. */
  lingerMs: number
}

const MAX_WAITING = 256
const MAX_WAIT_MS = 10_000

/** After this long an opening counts as seen, so that an agent that answers nothing is not paced for ever. */
const SEEN_AFTER_MS = 1000

/** Pause before an opening is tried again that the agent refused for lack of room. */
const RETRY_MS = 5

/** Opens proxied streams of one session within what its agent can bear; a bounded number waits for room. */
export class AgentStreams implements Opener {
  readonly #served: ServedSession
  readonly #limits: StreamLimits
  /** In the order of arrival, each with the timer that ends its patience. */
  readonly #waiting = new Map<HeldStream, NodeJS.Timeout>()
  readonly #paced: boolean
  #unseen = 0
  // Streams that ended in the current and in the last period of `lingerMs`.
  #endedNow = 0
  #endedBefore = 0
  #period: NodeJS.Timeout | undefined

  constructor(served: ServedSession, limits: StreamLimits) {
    this.#served = served
    this.#limits = limits
    this.#paced = Number.isFinite(limits.unseen)
  }

  /** Throws `TunnelBusy` when too many wait already. */
  open(header: ProxyHeader, first: Buffer | undefined): ByteStream {
    const room = this.#waiting.size === 0 && this.#hasRoom()
    // The usual case costs nothing: the stream itself is handed out.
    if (room && !this.#paced) return this.#served.openProxy(header, first)
    if (this.#served.over) throw new MuxError(ErrorCode.SessionClosed, 'The session is over.')
    if (!room && this.#waiting.size >= MAX_WAITING) {
      throw new TunnelBusy(
        `The agent has ${this.#served.streamCount} connections open and ${MAX_WAITING} wait.`,
      )
    }
    const held = new HeldStream(this, this.#paced, header, first)
    if (room) this.#attach(held)
    else this.#wait(held)
    return held
  }

  /** So many streams ended. */
  freed(count: number): void {
    if (this.#limits.lingerMs > 0) {
      this.#endedNow += count
      this.#period ??= setTimeout(() => this.#nextPeriod(), this.#limits.lingerMs)
    }
    this.#admit()
  }

  #nextPeriod(): void {
    this.#endedBefore = this.#endedNow
    this.#endedNow = 0
    this.#period =
      this.#endedBefore === 0 ? undefined : setTimeout(() => this.#nextPeriod(), this.#limits.lingerMs)
    this.#admit()
  }

  /** Opens those that have waited longest, as far as there is room. */
  #admit(): void {
    for (const [held, late] of this.#waiting) {
      if (!this.#hasRoom()) return
      clearTimeout(late)
      this.#waiting.delete(held)
      this.#attach(held)
    }
  }

  /** The session is over. */
  end(error: Error): void {
    clearTimeout(this.#period)
    for (const [held, late] of this.#waiting) {
      clearTimeout(late)
      held.fail(error)
    }
    this.#waiting.clear()
  }

  again(held: HeldStream): void {
    setTimeout(() => {
      if (held.closed) return
      if (this.#served.over) held.fail(new MuxError(ErrorCode.SessionClosed, 'The session is over.'))
      else if (this.#hasRoom()) this.#attach(held)
      else this.#wait(held)
    }, RETRY_MS)
  }

  leave(held: HeldStream): void {
    clearTimeout(this.#waiting.get(held))
    this.#waiting.delete(held)
  }

  #hasRoom(): boolean {
    const places = this.#served.streamCount + this.#endedNow + this.#endedBefore
    return places < this.#limits.cap && this.#unseen < this.#limits.unseen
  }

  #wait(held: HeldStream): void {
    const late = setTimeout(() => {
      this.#waiting.delete(held)
      held.fail(new TunnelBusy(`No connection to the agent became free within ${MAX_WAIT_MS / 1000} s.`))
    }, MAX_WAIT_MS)
    this.#waiting.set(held, late)
  }

  #attach(held: HeldStream): void {
    const stream = this.#served.openProxy(held.header, held.first)
    if (this.#paced) this.#watch(held, stream)
    held.attach(stream)
  }

  /** Counts an opening until the agent has shown any sign of having seen it. */
  #watch(held: HeldStream, stream: MuxStream): void {
    this.#unseen++
    let counted = true
    const uncount = () => {
      if (!counted) return
      counted = false
      clearTimeout(assumed)
      this.#unseen--
      if (this.#waiting.size > 0) this.#admit()
    }
    const seen = () => {
      uncount()
      held.seen()
    }
    const assumed = setTimeout(seen, SEEN_AFTER_MS)
    stream.onAcknowledged = seen
    held.onInnerClose = uncount
  }
}

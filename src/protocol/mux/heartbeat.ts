import { randomBytes } from 'node:crypto'
import type { StreamSink } from '../../base/io/streams/stream.ts'
import type { Clock } from '../../base/values/clock.ts'
import { ErrorCode, MuxError } from './frame.ts'
import type { MuxSession } from './mux-session.ts'
import type { MuxStream } from './mux-stream.ts'
import { StreamType, typeBytes } from './stream-type.ts'

/** Length of one beat, which the peer echoes unchanged. */
const BEAT_BYTES = 4

/** The shortest interval and tolerance that an agent may ask for. */
export const MIN_HEARTBEAT_MS = 1000

/** The answering end: echoes every beat at once, before and after authentication. */
export class HeartbeatEcho implements StreamSink {
  readonly #stream: MuxStream

  constructor(stream: MuxStream) {
    this.#stream = stream
    stream.urgent = true
  }

  onData(chunk: Buffer): void {
    const writable = this.#stream.write(chunk)
    this.#stream.consumed(chunk.length)
    // Four bytes are in flight at a time; a peer whose window fills up is flooding.
    if (!writable)
      this.#stream.reset(new MuxError(ErrorCode.EnhanceYourCalm, 'Beats are sent faster than they are read.'))
  }

  onEnd(): void {
    this.#stream.end()
  }

  onDrain(): void {}
  onClose(): void {}
}

/** The interval between beats, and the extra time before a silent peer counts as dead. */
export interface HeartbeatTimes {
  intervalMs: number
  toleranceMs: number
}

/** The agent's end: beats at once, then one interval after each echo. */
export class Heartbeat implements StreamSink {
  readonly #session: MuxSession
  readonly #stream: MuxStream
  readonly #intervalMs: number
  readonly #clock: Clock
  readonly #onLatency: (milliseconds: number) => void
  readonly #echo = Buffer.alloc(BEAT_BYTES)
  #beat = Buffer.alloc(BEAT_BYTES)
  #echoed = 0
  #sentAt = 0
  #next: NodeJS.Timeout | undefined

  constructor(
    session: MuxSession,
    intervalMs: number,
    clock: Clock,
    onLatency: (milliseconds: number) => void,
  ) {
    this.#session = session
    this.#intervalMs = intervalMs
    this.#clock = clock
    this.#onLatency = onLatency
    this.#stream = session.open(typeBytes(StreamType.Heartbeat))
    this.#stream.urgent = true
    this.#stream.sink = this
    this.#send()
  }

  onData(chunk: Buffer): void {
    this.#stream.consumed(chunk.length)
    this.#stream.grant()
    const copied = chunk.copy(this.#echo, this.#echoed, 0, BEAT_BYTES - this.#echoed)
    this.#echoed += copied
    if (copied < chunk.length || (this.#echoed === BEAT_BYTES && !this.#echo.equals(this.#beat))) {
      this.#session.close(ErrorCode.Protocol, 'The heartbeat came back with other bytes than were sent.')
      return
    }
    if (this.#echoed < BEAT_BYTES) return
    const latencyMs = this.#clock.monotonic() - this.#sentAt
    this.#session.roundTrip.add(latencyMs)
    this.#onLatency(latencyMs)
    this.#next = setTimeout(() => this.#send(), this.#intervalMs)
    this.#next.unref()
  }

  onEnd(): void {
    this.#stream.end()
  }

  onDrain(): void {}

  onClose(): void {
    clearTimeout(this.#next)
  }

  #send(): void {
    this.#beat = randomBytes(BEAT_BYTES)
    this.#echoed = 0
    this.#sentAt = this.#clock.monotonic()
    this.#stream.write(this.#beat)
  }
}

/** Sends one beat. Resolves to whether the peer sent anything within the timeout: the echo, or any other bytes. */
export function ping(session: MuxSession, clock: Clock, timeoutMs: number): Promise<boolean> {
  if (session.closed) return Promise.resolve(false)
  const sentAt = clock.monotonic()
  return new Promise((resolve) => {
    const stream = session.open(Buffer.concat([typeBytes(StreamType.Heartbeat), randomBytes(BEAT_BYTES)]))
    stream.urgent = true
    const finish = (alive: boolean) => {
      clearTimeout(timer)
      resolve(alive)
      stream.reset()
    }
    const timer = setTimeout(() => finish(session.lastReceivedAt > sentAt), timeoutMs)
    stream.sink = {
      onData(chunk) {
        session.roundTrip.add(clock.monotonic() - sentAt)
        stream.consumed(chunk.length)
        finish(true)
      },
      onEnd: () => finish(true),
      onDrain() {},
      // A peer that rejects the stream is alive too.
      onClose: () => finish(!session.closed),
    }
  })
}

/** A timer later than this, or than a quarter of the timeout, means that this process stalled: that says nothing about the peer. */
const MAX_TIMER_DELAY_MS = 1000
/** How long an expired timeout waits for bytes that arrived during a shorter stall, at most an eighth of the timeout. */
const MAX_GRACE_MS = 250

/** The peer sent nothing, not even an echo, for longer than the heartbeat allows. */
export class HeartbeatTimeout extends MuxError {
  override name = 'HeartbeatTimeout'

  constructor(timeoutMs: number) {
    // Not RemoteGone: that code is for a peer that sent GOAWAY.
    super(ErrorCode.PeerEof, `Nothing was heard from the peer for ${Math.round(timeoutMs)} ms.`)
  }
}

/** Ends a session whose peer sent nothing within the timeout. Both sides run one. */
export class Watchdog {
  readonly #session: MuxSession
  readonly #timeoutMs: number
  readonly #clock: Clock
  #timer: NodeJS.Timeout | undefined
  #since: number
  #expired = false

  constructor(session: MuxSession, allowedMs: number, clock: Clock) {
    this.#session = session
    this.#timeoutMs = allowedMs
    this.#clock = clock
    this.#since = clock.monotonic()
    this.#arm(allowedMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #arm(milliseconds: number): void {
    const dueAt = this.#clock.monotonic() + milliseconds
    this.#timer = setTimeout(() => this.#check(dueAt), milliseconds)
    this.#timer.unref()
  }

  #check(dueAt: number): void {
    if (this.#session.closed) return
    const now = this.#clock.monotonic()
    // Bytes that arrived during a stall are still unread, so restart the timeout.
    if (now - dueAt > Math.min(MAX_TIMER_DELAY_MS, this.#timeoutMs / 4)) this.#since = now
    const remainingMs = Math.max(this.#session.lastReceivedAt, this.#since) + this.#timeoutMs - now
    if (remainingMs <= 0 && this.#expired) {
      this.#session.destroy(new HeartbeatTimeout(this.#timeoutMs))
      return
    }
    this.#expired = remainingMs <= 0
    this.#arm(this.#expired ? Math.min(MAX_GRACE_MS, this.#timeoutMs / 8) : remainingMs)
  }
}

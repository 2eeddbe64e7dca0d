import { ByteQueue } from '../base/io/byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from '../base/io/stream.ts'
import { ErrorCode, MuxError, type MuxStream, type ProxyHeader } from '../protocol/index.ts'

/** What a visitor may send ahead while its stream waits. */
const HOLD_BYTES = 65_536

/** Openings refused with "accept queue full" before the visitor is told. */
const MAX_RETRIES = 10

/** What a held stream asks of the session it wants to open on. */
export interface Opener {
  /** Opens it later; called when it was refused before the agent saw it. */
  again(held: HeldStream): void
  /** Gave up waiting. */
  leave(held: HeldStream): void
}

/**
 * A stream that is not open yet, or that may have to be opened again: keeps what was written until it is certain that
 * the agent has it. Afterwards everything passes through.
 */
export class HeldStream implements ByteStream, StreamSink {
  sink: StreamSink = silentSink
  readonly header: ProxyHeader
  /** Bytes that go before the visitor's. */
  readonly first: Buffer | undefined
  /** Called when the stream behind it ended, even when another will be opened in its place. */
  onInnerClose: (() => void) | undefined
  readonly #opener: Opener
  readonly #keepUntilSeen: boolean
  #inner: MuxStream | undefined
  #held: ByteQueue | undefined = new ByteQueue()
  #blocked = false
  #ended = false
  #closed = false
  #retries = 0

  constructor(opener: Opener, keepUntilSeen: boolean, header: ProxyHeader, first: Buffer | undefined) {
    this.#opener = opener
    this.#keepUntilSeen = keepUntilSeen
    this.header = header
    this.first = first
  }

  get closed(): boolean {
    return this.#closed
  }

  write(chunk: Buffer): boolean {
    if (this.#closed || this.#ended) return false
    if (this.#held === undefined) return this.#inner!.write(chunk)
    this.#held.push(chunk)
    const room = this.#inner === undefined || this.#inner.write(chunk)
    if (room && this.#held.length < HOLD_BYTES) return true
    this.#blocked = true
    return false
  }

  end(): void {
    if (this.#ended || this.#closed) return
    this.#ended = true
    this.#inner?.end()
  }

  reset(error?: Error): void {
    if (this.#closed) return
    this.#ended = true
    if (this.#inner !== undefined) this.#inner.reset(error)
    else {
      this.#opener.leave(this)
      this.fail(
        error ?? new MuxError(ErrorCode.StreamCancelled, 'The stream was reset before it was opened.'),
      )
    }
  }

  consumed(bytes: number): void {
    this.#inner?.consumed(bytes)
  }

  /** The session has room: from here on this is that stream. */
  attach(inner: MuxStream): void {
    this.#inner = inner
    inner.sink = this
    const room = this.#held === undefined || this.#held.length === 0 || inner.write(this.#held.bytes)
    if (this.#ended) inner.end()
    if (!this.#keepUntilSeen) this.#letGo(room)
  }

  /** The agent has seen the opening: it will not be refused any more. */
  seen(): void {
    this.#letGo(true)
  }

  /** Ends a stream that never was opened. Its sink hears of it after the call that caused it. */
  fail(error: Error): void {
    if (this.#closed) return
    this.#closed = true
    this.#held = undefined
    setImmediate(() => this.sink.onClose(error))
  }

  onData(chunk: Buffer): void {
    this.sink.onData(chunk)
  }

  onEnd(): void {
    this.sink.onEnd()
  }

  onDrain(): void {
    // While bytes are kept, only letting go of them makes room.
    if (this.#held !== undefined && this.#held.length >= HOLD_BYTES) return
    this.#blocked = false
    this.sink.onDrain()
  }

  onClose(error?: Error): void {
    this.#inner = undefined
    this.onInnerClose?.()
    const refused = error instanceof MuxError && error.code === ErrorCode.AcceptQueueFull
    if (refused && this.#held !== undefined && this.#retries++ < MAX_RETRIES) {
      this.#opener.again(this)
      return
    }
    this.#closed = true
    this.#held = undefined
    this.sink.onClose(error)
  }

  #letGo(room: boolean): void {
    if (this.#held === undefined) return
    this.#held = undefined
    if (!this.#blocked || !room) return
    this.#blocked = false
    this.sink.onDrain()
  }
}

import { ByteQueue } from '../base/io/byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from '../base/io/stream.ts'
import { ErrorCode, MuxError, type MuxStream, type ProxyHeader } from '../protocol/index.ts'

/** What a visitor may send ahead while its stream waits. */
const MAX_PENDING_BYTES = 65_536

/** Openings refused with "accept queue full" before the visitor is told. */
const MAX_RETRIES = 10

/** What a held stream asks of the session it wants to open on. */
export interface StreamOpener {
  /** Opens it later; called when it was refused before the agent saw it. */
  again(stream: HeldStream): void
  /** Gave up waiting. */
  leave(stream: HeldStream): void
}

/**
 * A stream that is not open yet, or that may have to be opened again: keeps what was written until it is certain that
 * the agent has it. Afterwards everything passes through.
 */
export class HeldStream implements ByteStream, StreamSink {
  sink: StreamSink = silentSink
  readonly header: ProxyHeader
  /** Bytes that go before the visitor's. */
  readonly preamble: Buffer | undefined
  /** Called when the stream behind it ended, even when another will be opened in its place. */
  onInnerClose: (() => void) | undefined
  readonly #opener: StreamOpener
  readonly #bufferUntilAcknowledged: boolean
  #inner: MuxStream | undefined
  #buffer: ByteQueue | undefined = new ByteQueue()
  #blocked = false
  #ended = false
  #closed = false
  #retries = 0

  constructor(
    opener: StreamOpener,
    bufferUntilAcknowledged: boolean,
    header: ProxyHeader,
    preamble: Buffer | undefined,
  ) {
    this.#opener = opener
    this.#bufferUntilAcknowledged = bufferUntilAcknowledged
    this.header = header
    this.preamble = preamble
  }

  get closed(): boolean {
    return this.#closed
  }

  write(chunk: Buffer): boolean {
    if (this.#closed || this.#ended) return false
    if (this.#buffer === undefined) return this.#inner!.write(chunk)
    this.#buffer.push(chunk)
    const writable = this.#inner === undefined || this.#inner.write(chunk)
    if (writable && this.#buffer.length < MAX_PENDING_BYTES) return true
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
    const writable =
      this.#buffer === undefined || this.#buffer.length === 0 || inner.write(this.#buffer.bytes)
    if (this.#ended) inner.end()
    if (!this.#bufferUntilAcknowledged) this.#releaseBuffer(writable)
  }

  /** The agent has seen the opening: it will not be refused any more. */
  acknowledge(): void {
    this.#releaseBuffer(true)
  }

  /** Ends a stream that never was opened. Its sink hears of it after the call that caused it. */
  fail(error: Error): void {
    if (this.#closed) return
    this.#closed = true
    this.#buffer = undefined
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
    if (this.#buffer !== undefined && this.#buffer.length >= MAX_PENDING_BYTES) return
    this.#blocked = false
    this.sink.onDrain()
  }

  onClose(error?: Error): void {
    this.#inner = undefined
    this.onInnerClose?.()
    const rejected = error instanceof MuxError && error.code === ErrorCode.AcceptQueueFull
    if (rejected && this.#buffer !== undefined && this.#retries++ < MAX_RETRIES) {
      this.#opener.again(this)
      return
    }
    this.#closed = true
    this.#buffer = undefined
    this.sink.onClose(error)
  }

  #releaseBuffer(writable: boolean): void {
    if (this.#buffer === undefined) return
    this.#buffer = undefined
    if (!this.#blocked || !writable) return
    this.#blocked = false
    this.sink.onDrain()
  }
}

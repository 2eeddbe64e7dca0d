import { ByteQueue } from '../base/io/byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from '../base/io/stream.ts'
import { ErrorCode, MuxError, type MuxStream, type ProxyHeader } from '../protocol/index.ts'

/** Bytes a client may send while its stream is pending. */
const MAX_PENDING_BYTES = 65_536

/** Retries after RST "accept queue full" before the client gets the error. */
const MAX_RETRIES = 10

/** The session that a pending stream opens on. */
export interface StreamOpener {
  /** Opens the stream again later; called when the agent rejected it for lack of room. */
  retry(stream: PendingStream): void
  /** The stream was reset while queued. */
  cancel(stream: PendingStream): void
}

/**
 * A stream that is not open yet, or may have to be reopened: buffers what was written until the agent has acknowledged
 * the open, then passes everything through.
 */
export class PendingStream implements ByteStream, StreamSink {
  sink: StreamSink = silentSink
  readonly header: ProxyHeader
  /** Bytes before the client's, such as a PROXY header. */
  readonly preamble: Buffer | undefined
  /** Called when the inner stream closed, even when another one replaces it. */
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
      this.#opener.cancel(this)
      this.fail(
        error ?? new MuxError(ErrorCode.StreamCancelled, 'The stream was reset before it was opened.'),
      )
    }
  }

  consumed(bytes: number): void {
    this.#inner?.consumed(bytes)
  }

  /** Opens on the inner stream and writes what is buffered. */
  attach(inner: MuxStream): void {
    this.#inner = inner
    inner.sink = this
    const writable =
      this.#buffer === undefined || this.#buffer.length === 0 || inner.write(this.#buffer.bytes)
    if (this.#ended) inner.end()
    if (!this.#bufferUntilAcknowledged) this.#releaseBuffer(writable)
  }

  /** The agent has acknowledged the open, so it will not reject it any more. */
  acknowledge(): void {
    this.#releaseBuffer(true)
  }

  /** Closes a stream that was never opened. The sink is called after the current call returns. */
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
    // While the buffer is full, only releasing it makes room.
    if (this.#buffer !== undefined && this.#buffer.length >= MAX_PENDING_BYTES) return
    this.#blocked = false
    this.sink.onDrain()
  }

  onClose(error?: Error): void {
    this.#inner = undefined
    this.onInnerClose?.()
    const rejected = error instanceof MuxError && error.code === ErrorCode.AcceptQueueFull
    if (rejected && this.#buffer !== undefined && this.#retries++ < MAX_RETRIES) {
      this.#opener.retry(this)
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

import { ByteQueue } from './byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from './stream.ts'

/** Bytes that are buffered before back-pressure applies. */
const MAX_BUFFERED_BYTES = 64 * 1024

/**
 * A stream whose inner stream opens later, and after a failed open perhaps again elsewhere. It buffers what is written
 * until the open is certain; `BufferedStream` buffers what is received.
 *
 *   #inner  #buffer
 *   –       set       WAITING   writes are buffered
 *   set     set       OPENING   writes are sent, and buffered in case they have to be sent again
 *   set     –         OPEN      everything passes through
 *   –       –         CLOSED
 */
export abstract class DeferredStream implements ByteStream, StreamSink {
  sink: StreamSink = silentSink
  readonly #confirmsLater: boolean
  #inner: ByteStream | undefined
  #buffer: ByteQueue | undefined = new ByteQueue()
  /** Notes that may have to be sent again, as what is buffered. */
  readonly #notes: Buffer[] = []
  #blocked = false
  #ended = false

  /** With `confirmsLater`, an attached stream may still be rejected until `confirm` is called. */
  constructor(confirmsLater: boolean) {
    this.#confirmsLater = confirmsLater
  }

  /** The inner stream closed with this error before the open was certain. Returns true when another one will be attached. */
  protected abstract reopen(error: Error | undefined): boolean

  /** The stream was reset while it waited: gives up the attempt to open it, and calls `fail`. */
  protected abstract cancel(error: Error | undefined): void

  get closed(): boolean {
    return this.#inner === undefined && this.#buffer === undefined
  }

  write(chunk: Buffer): boolean {
    if (this.#ended) return false
    const inner = this.#inner
    const buffer = this.#buffer
    if (buffer === undefined) return inner?.write(chunk) ?? false
    buffer.push(chunk)
    const writable = inner === undefined || inner.write(chunk)
    if (writable && buffer.length < MAX_BUFFERED_BYTES) return true
    this.#blocked = true
    return false
  }

  end(): void {
    if (this.#ended || this.closed) return
    this.#ended = true
    this.#inner?.end()
  }

  reset(error?: Error): void {
    if (this.closed) return
    this.#ended = true
    if (this.#inner !== undefined) this.#inner.reset(error)
    else this.cancel(error)
  }

  consumed(bytes: number): void {
    this.#inner?.consumed(bytes)
  }

  /** Notes wait for the inner stream as bytes do; if its peer reads none, they are lost. */
  get takesNotes(): boolean {
    return this.#inner === undefined ? !this.closed : this.#inner.takesNotes === true
  }

  sendNote(payload: Buffer): void {
    if (this.#buffer !== undefined) this.#notes.push(payload)
    this.#inner?.sendNote?.(payload)
  }

  /** Opens on the inner stream and sends what is buffered. */
  attach(inner: ByteStream): void {
    const buffer = this.#buffer
    this.#inner = inner
    inner.sink = this
    for (const note of this.#notes) inner.sendNote?.(note)
    const writable = buffer === undefined || buffer.length === 0 || inner.write(buffer.bytes)
    if (this.#ended) inner.end()
    if (!this.#confirmsLater) this.#releaseBuffer(writable)
  }

  /** The open is certain: nothing has to be sent again. */
  confirm(): void {
    this.#releaseBuffer(true)
  }

  /** Closes a stream that was never opened. The sink is called after the current call returns. */
  fail(error: Error): void {
    if (this.closed) return
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
    if (this.#buffer !== undefined && this.#buffer.length >= MAX_BUFFERED_BYTES) return
    this.#blocked = false
    this.sink.onDrain()
  }

  onClose(error?: Error): void {
    this.#inner = undefined
    if (this.#buffer !== undefined && this.reopen(error)) return
    this.#buffer = undefined
    this.sink.onClose(error)
  }

  #releaseBuffer(writable: boolean): void {
    if (this.#buffer === undefined) return
    this.#buffer = undefined
    this.#notes.length = 0
    if (!this.#blocked || !writable) return
    this.#blocked = false
    this.sink.onDrain()
  }
}

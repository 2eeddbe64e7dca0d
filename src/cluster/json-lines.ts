import { ByteQueue } from '../base/io/streams/byte-queue.ts'
import type { StreamSink } from '../base/io/streams/stream.ts'
import { MESSAGE_TIMEOUT_MS, type MuxStream } from '../protocol/index.ts'

const LINE_END = 0x0a
const MAX_LINE_BYTES = 1024 * 1024

/** Writes a value as one JSON line. */
export function writeLine(stream: MuxStream, value: object): void {
  stream.write(Buffer.from(`${JSON.stringify(value)}\n`))
}

/** Reads the first line, or every line, of a stream; resets it at a line that is not JSON, too long or not completed. */
export class LineReader<T> implements StreamSink {
  readonly #stream: MuxStream
  /** Handles a line. If it replaces the stream's sink, the new sink gets the remaining bytes. */
  readonly #onLine: (value: T) => void
  readonly #onClose: (error?: Error) => void
  readonly #timeoutMs: number
  readonly #buffer = new ByteQueue()
  /** Timeout of an incomplete line. */
  #timer: NodeJS.Timeout | undefined

  constructor(
    stream: MuxStream,
    onLine: (value: T) => void,
    onClose: (error?: Error) => void = () => {},
    timeoutMs = MESSAGE_TIMEOUT_MS,
  ) {
    this.#stream = stream
    this.#onLine = onLine
    this.#onClose = onClose
    this.#timeoutMs = timeoutMs
  }

  onData(chunk: Buffer): void {
    const bufferedBytes = this.#buffer.length
    // Consumed as soon as buffered: a line may be longer than the stream's window.
    let consumedBytes = bufferedBytes
    let bytes = this.#buffer.join(chunk)
    for (let end = bytes.indexOf(LINE_END, bufferedBytes); end !== -1; end = bytes.indexOf(LINE_END)) {
      let value: T
      try {
        value = JSON.parse(bytes.toString('utf8', 0, end))
      } catch (error) {
        this.#stream.reset(error as Error)
        return
      }
      this.#stream.consumed(end + 1 - consumedBytes)
      consumedBytes = 0
      clearTimeout(this.#timer)
      this.#timer = undefined
      // Detaches the queue's memory, which `bytes` still uses.
      this.#buffer.take()
      bytes = bytes.subarray(end + 1)
      this.#onLine(value)
      if (this.#stream.sink !== this) {
        if (bytes.length > 0) this.#stream.sink.onData(bytes)
        return
      }
    }
    if (bytes.length > MAX_LINE_BYTES) this.#stream.reset(new RangeError('A line is too long.'))
    else if (bytes.length > 0) {
      this.#buffer.retain(bytes)
      this.#stream.consumed(bytes.length - consumedBytes)
      this.#timer ??= setTimeout(
        () => this.#stream.reset(new Error('A line was not completed in time.')),
        this.#timeoutMs,
      )
    }
  }

  onEnd(): void {
    this.#stream.end()
  }

  onDrain(): void {}

  onClose(error?: Error): void {
    clearTimeout(this.#timer)
    this.#buffer.clear()
    this.#onClose(error)
  }
}

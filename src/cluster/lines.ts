import type { StreamSink } from '../base/stream.ts'
import type { MuxStream } from '../protocol/index.ts'

const LINE_END = 0x0a
const MAX_LINE_BYTES = 1024 * 1024

/** Writes a value as one line. */
export function writeLine(stream: MuxStream, value: object): void {
  stream.write(Buffer.from(`${JSON.stringify(value)}\n`))
}

/** Reads the first line, or every line, of a stream; a line that is no JSON, or has no end, breaks the stream. */
export class LineReader<T> implements StreamSink {
  readonly #stream: MuxStream
  /** Takes a line. What it makes the stream's sink gets the bytes after it. */
  readonly #onLine: (value: T) => void
  readonly #onClose: (error?: Error) => void
  #held: Buffer = Buffer.alloc(0)

  constructor(stream: MuxStream, onLine: (value: T) => void, onClose: (error?: Error) => void = () => {}) {
    this.#stream = stream
    this.#onLine = onLine
    this.#onClose = onClose
  }

  onData(chunk: Buffer): void {
    let bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END)) {
      let value: T
      try {
        value = JSON.parse(bytes.toString('utf8', 0, end))
      } catch (error) {
        this.#stream.reset(error as Error)
        return
      }
      this.#stream.consumed(end + 1)
      bytes = bytes.subarray(end + 1)
      this.#onLine(value)
      if (this.#stream.sink !== this) {
        if (bytes.length > 0) this.#stream.sink.onData(bytes)
        return
      }
    }
    if (bytes.length > MAX_LINE_BYTES) this.#stream.reset(new RangeError('A line is too long.'))
    // Copied: the transport reuses its memory.
    else this.#held = Buffer.from(bytes)
  }

  onEnd(): void {
    this.#stream.end()
  }

  onDrain(): void {}

  onClose(error?: Error): void {
    this.#onClose(error)
  }
}

import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { MAX_PAYLOAD_BYTES } from './frame-log.ts'

/** One server-sent event; its data is truncated to the limit. */
export interface ScannedEvent {
  event: string
  id: string
  data: string
  /** Size of its lines in bytes. */
  size: number
  truncated: boolean
}

const MAX_LINE_BYTES = MAX_PAYLOAD_BYTES + 64
const MAX_NAME_LENGTH = 200
const LF = 10
const CR = 13

/** Parses the events of a `text/event-stream` body as it streams by, following the HTML standard, section 9.2. */
export class EventScanner {
  readonly #onEvent: (event: ScannedEvent) => void
  /** The beginning of an incomplete line, up to the limit. */
  readonly #partialLine = new ByteQueue()
  #afterCr = false
  #firstLine = true
  #data: string | undefined
  #event = ''
  #id = ''
  #size = 0
  #truncated = false

  constructor(onEvent: (event: ScannedEvent) => void) {
    this.#onEvent = onEvent
  }

  push(chunk: Buffer): void {
    let lineStart = 0
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index]!
      if (byte === LF || byte === CR) {
        // CRLF is one line end, even if it is split across chunks.
        if (!(byte === LF && this.#afterCr && index === lineStart))
          this.#endLine(chunk.subarray(lineStart, index))
        lineStart = index + 1
      }
      this.#afterCr = byte === CR
    }
    this.#bufferLine(chunk.subarray(lineStart))
  }

  #bufferLine(chunk: Buffer): void {
    this.#size += chunk.length
    const accepted = Math.min(chunk.length, MAX_LINE_BYTES - this.#partialLine.length)
    if (accepted < chunk.length) this.#truncated = true
    if (accepted <= 0) return
    this.#partialLine.push(chunk.subarray(0, accepted))
  }

  #endLine(rest: Buffer): void {
    this.#bufferLine(rest)
    let line = this.#partialLine.bytes.toString('utf8')
    this.#partialLine.clear()
    if (this.#firstLine) line = line.replace(/^\ufeff/, '')
    this.#firstLine = false
    if (line === '') this.#dispatch()
    else this.#parseField(line)
  }

  #parseField(line: string): void {
    const colon = line.indexOf(':')
    if (colon === 0) return
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'event') this.#event = value.slice(0, MAX_NAME_LENGTH)
    else if (name === 'id') this.#id = value.slice(0, MAX_NAME_LENGTH)
    else if (name === 'data') {
      const data = this.#data === undefined ? value : `${this.#data}\n${value}`
      if (data.length > MAX_PAYLOAD_BYTES) this.#truncated = true
      this.#data = data.slice(0, MAX_PAYLOAD_BYTES)
    }
  }

  #dispatch(): void {
    if (this.#data !== undefined) {
      this.#onEvent({
        event: this.#event || 'message',
        id: this.#id,
        data: this.#data,
        size: this.#size,
        truncated: this.#truncated,
      })
    }
    this.#data = undefined
    this.#event = ''
    this.#size = 0
    this.#truncated = false
  }
}

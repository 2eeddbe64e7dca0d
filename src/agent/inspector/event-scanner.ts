import { ByteQueue } from '../../base/io/byte-queue.ts'
import { MOST_PAYLOAD } from './frame-log.ts'

/** One server-sent event; its data is cut when it is longer than the limit. */
export interface ScannedEvent {
  event: string
  id: string
  data: string
  /** Bytes of its lines. */
  size: number
  truncated: boolean
}

const MOST_LINE = MOST_PAYLOAD + 64
const MOST_NAME = 200
const LF = 10
const CR = 13

/** Finds events in a `text/event-stream` body as it passes, as a browser would (HTML, section 9.2). */
export class EventScanner {
  readonly #onEvent: (event: ScannedEvent) => void
  /** The beginning of a line whose end has not come; no more than a limit of it. */
  readonly #held = new ByteQueue()
  #afterCr = false
  #first = true
  #data: string | undefined
  #event = ''
  #id = ''
  #size = 0
  #truncated = false

  constructor(onEvent: (event: ScannedEvent) => void) {
    this.#onEvent = onEvent
  }

  push(chunk: Buffer): void {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!
      if (byte === LF || byte === CR) {
        // A line end of two bytes is one line end, also when it is cut in the middle.
        if (!(byte === LF && this.#afterCr && at === from)) this.#line(chunk.subarray(from, at))
        from = at + 1
      }
      this.#afterCr = byte === CR
    }
    this.#hold(chunk.subarray(from))
  }

  #hold(piece: Buffer): void {
    this.#size += piece.length
    const kept = Math.min(piece.length, MOST_LINE - this.#held.length)
    if (kept < piece.length) this.#truncated = true
    if (kept <= 0) return
    this.#held.push(piece.subarray(0, kept))
  }

  #line(rest: Buffer): void {
    this.#hold(rest)
    let line = this.#held.bytes.toString('utf8')
    this.#held.clear()
    if (this.#first) line = line.replace(/^\ufeff/, '')
    this.#first = false
    if (line === '') this.#dispatch()
    else this.#field(line)
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    if (colon === 0) return
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'event') this.#event = value.slice(0, MOST_NAME)
    else if (name === 'id') this.#id = value.slice(0, MOST_NAME)
    else if (name === 'data') {
      const data = this.#data === undefined ? value : `${this.#data}\n${value}`
      if (data.length > MOST_PAYLOAD) this.#truncated = true
      this.#data = data.slice(0, MOST_PAYLOAD)
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

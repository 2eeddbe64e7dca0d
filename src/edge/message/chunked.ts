import { HEX_VALUES, MAX_CHUNK_SIZE_DIGITS } from '../../base/http/http1-framing.ts'
import type { FieldNames } from './field-names.ts'
import { MessageFraming, scanFields } from './field-scan.ts'

/** Limits of chunked framing (P20). */
const MAX_EXTENSION_BYTES = 1024
const MAX_TRAILER_BYTES = 4096
const MAX_TRAILER_FIELDS = 100

const CR = 13
const LF = 10
const SEMICOLON = 59
const SPACE = 32
const TAB = 9

const State = {
  size: 0,
  extension: 1,
  sizeLf: 2,
  data: 3,
  dataCr: 4,
  dataLf: 5,
  trailers: 6,
  done: 7,
  failed: 8,
} as const
type State = (typeof State)[keyof typeof State]

const EMPTY = Buffer.alloc(0)

/**
 * Decodes a chunked body strictly, so that it can be framed anew: extensions, odd sizes and forged trailers never reach
 * the next reader (P24, decision 40). The data of several chunks is compacted inside the buffer it arrived in, so that
 * many small chunks become one.
 */
export class ChunkedDecoder {
  /** Trailer lines to forward, each terminated by CRLF; set once `done`. */
  trailers = ''
  readonly #names: FieldNames
  #state: State = State.size
  #size = 0
  #digits = 0
  #extensionBytes = 0
  #remaining = 0
  #trailers = ''
  #consumed = 0

  constructor(names: FieldNames) {
    this.#names = names
  }

  get done(): boolean {
    return this.#state === State.done
  }

  get failed(): boolean {
    return this.#state === State.failed
  }

  /** How much of the last buffer belonged to this body; the rest is the next message. */
  get consumed(): number {
    return this.#consumed
  }

  /** Returns the data in this buffer, possibly none, in the buffer's own memory. Check `done` and `failed` afterwards. */
  decode(chunk: Buffer): Buffer {
    let position = 0
    let start = 0
    let size = 0
    while (position < chunk.length && this.#state < State.done) {
      if (this.#state === State.data) {
        const count = Math.min(this.#remaining, chunk.length - position)
        if (size === 0) start = position
        else chunk.copyWithin(start + size, position, position + count)
        size += count
        position += count
        this.#remaining -= count
        if (this.#remaining === 0) this.#state = State.dataCr
      } else if (this.#state === State.trailers) position = this.#parseTrailers(chunk, position)
      else this.#parseByte(chunk[position++]!)
    }
    this.#consumed = position
    return size === 0 ? EMPTY : chunk.subarray(start, start + size)
  }

  #parseByte(byte: number): void {
    switch (this.#state) {
      case State.size: {
        const digit = HEX_VALUES[byte]!
        if (digit !== 255) {
          this.#size = this.#size * 16 + digit
          if (++this.#digits > MAX_CHUNK_SIZE_DIGITS) this.#state = State.failed
        } else if (this.#digits === 0) this.#state = State.failed
        else if (byte === CR) this.#state = State.sizeLf
        else this.#state = byte === SEMICOLON ? State.extension : State.failed
        return
      }
      case State.extension:
        if (++this.#extensionBytes > MAX_EXTENSION_BYTES) this.#state = State.failed
        else if (byte === CR) this.#state = State.sizeLf
        else if ((byte < SPACE && byte !== TAB) || byte === 127) this.#state = State.failed
        return
      case State.sizeLf:
        if (byte !== LF) this.#state = State.failed
        else this.#state = this.#size === 0 ? State.trailers : State.data
        this.#remaining = this.#size
        this.#size = 0
        this.#digits = 0
        return
      case State.dataCr:
        this.#state = byte === CR ? State.dataLf : State.failed
        return
      default:
        this.#state = byte === LF ? State.size : State.failed
    }
  }

  #parseTrailers(chunk: Buffer, offset: number): number {
    const bufferedLength = this.#trailers.length
    const text =
      this.#trailers +
      chunk.toString(
        'latin1',
        offset,
        Math.min(chunk.length, offset + MAX_TRAILER_BYTES + 4 - bufferedLength),
      )
    const end = text.startsWith('\r\n') ? 2 : text.indexOf('\r\n\r\n') + 4
    if (end === 3) {
      if (text.length > MAX_TRAILER_BYTES + 2) this.#state = State.failed
      this.#trailers = text
      return offset + text.length - bufferedLength
    }
    this.#state =
      end - 2 > MAX_TRAILER_BYTES || !this.#readTrailers(text.slice(0, end)) ? State.failed : State.done
    return offset + end - bufferedLength
  }

  #readTrailers(text: string): boolean {
    if (text.length === 2) return true
    const framing = new MessageFraming()
    const fault = scanFields(text, 0, this.#names, MAX_TRAILER_FIELDS, framing)
    // Special fields were dropped: a trailer may not frame, route or identify anything.
    this.trailers = framing.fieldLines
    return fault === undefined
  }
}

/** Formats the size line of a chunk. */
export function formatChunkHeader(size: number): string {
  return `${size.toString(16)}\r\n`
}

/** Formats the last chunk with these trailer lines. */
export function formatLastChunk(trailers: string): string {
  return trailers === '' ? '0\r\n\r\n' : `0\r\n${trailers}\r\n`
}

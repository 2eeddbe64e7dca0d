import {
  HEX_VALUES,
  hasResponseBody,
  headLength,
  MAX_CHUNK_SIZE_DIGITS,
  parseContentLength,
} from '../base/http/http1-framing.ts'
import { trimOws } from '../base/http/optional-white-space.ts'
import { ByteQueue } from '../base/io/streams/byte-queue.ts'

/** How the body after a head is framed; `stop` means that what follows is not HTTP (an upgrade, malformed bytes). */
export type Framing = number | 'chunked' | 'close' | 'stop'

/** Events of one direction of a connection. Buffers are borrowed: copy what must outlive the call. */
export interface MessageEvents {
  /** A complete head with its blank line; returns how the body is framed. */
  head(bytes: Buffer, head: MessageHead): Framing
  /** Body bytes as on the wire, including chunk sizes and trailers. */
  body(bytes: Buffer): void
  /** Body bytes without chunk sizes and trailers; may be set and cleared between messages. */
  data?: ((bytes: Buffer) => void) | undefined
  /** The message is complete; the next byte begins another one. */
  end(): void
  /** Bytes outside any message, from here to the end of the connection. */
  raw(bytes: Buffer): void
}

/** The text of a head, its first line and the fields that determine the framing. */
export interface MessageHead {
  /** Without the empty line at its end. */
  text: string
  /** `GET / HTTP/1.1` or `HTTP/1.1 200 OK`, without its line end. */
  line: string
  /** Undefined when absent, NaN when invalid. */
  contentLength: number | undefined
  chunked: boolean
}

const MAX_HEAD_BYTES = 65_536
const MAX_CHUNK_LINE_BYTES = 8_192
const LF = 10
const CR = 13

type State = 'head' | 'length' | 'size' | 'data' | 'trailer' | 'close' | 'raw'

/**
 * Finds messages in one direction of an HTTP/1 connection without changing or delaying a byte. It is lenient where
 * the edge was strict already (`base/http/http1-framing.ts` says where), and stops for good at the first malformed byte.
 */
export class MessageScanner {
  readonly #events: MessageEvents
  #state: State = 'head'
  /** The beginning of an incomplete head. */
  readonly #buffered = new ByteQueue()
  /** Remaining bytes of the body or chunk, or the remaining budget of the trailers. */
  #remaining = 0
  /** The chunk size so far and its digits, and the length of the current size or trailer line. */
  #size = 0
  #digits = 0
  #lineLength = 0

  constructor(events: MessageEvents) {
    this.#events = events
  }

  push(chunk: Buffer): void {
    let offset = 0
    while (offset < chunk.length) {
      if (this.#state === 'head') offset = this.#scanHead(chunk, offset)
      else if (this.#state === 'length') offset = this.#scanFixedBody(chunk, offset)
      else if (this.#state === 'close') {
        const rest = offset === 0 ? chunk : chunk.subarray(offset)
        this.#events.body(rest)
        this.#events.data?.(rest)
        return
      } else if (this.#state === 'raw') {
        this.#events.raw(offset === 0 ? chunk : chunk.subarray(offset))
        return
      } else offset = this.#scanChunkedBody(chunk, offset)
    }
  }

  /** Ends the direction; returns true when that cut no message short. */
  finish(): boolean {
    if (this.#state === 'close') {
      this.#state = 'raw'
      this.#events.end()
      return true
    }
    const buffered = this.#buffered.take()
    if (buffered.length > 0) this.#events.raw(buffered)
    return this.#state === 'raw' || (this.#state === 'head' && buffered.length === 0)
  }

  /** Treats everything from here on as raw bytes, because the other direction stopped. */
  stop(): void {
    this.#state = 'raw'
    const buffered = this.#buffered.take()
    if (buffered.length > 0) this.#events.raw(buffered)
  }

  #scanHead(chunk: Buffer, offset: number): number {
    const rest = offset === 0 ? chunk : chunk.subarray(offset)
    const searched = this.#buffered.length
    const bytes = this.#buffered.join(rest)
    const end = headLength(bytes, searched)
    if (end === -1 && bytes.length <= MAX_HEAD_BYTES) {
      this.#buffered.retain(bytes)
      return chunk.length
    }
    this.#buffered.take()
    if (end === -1 || end > MAX_HEAD_BYTES) {
      this.#state = 'raw'
      this.#events.raw(bytes)
      return chunk.length
    }
    const head = bytes.length === end ? bytes : bytes.subarray(0, end)
    this.#beginBody(this.#events.head(head, parseHead(head)))
    return offset + end - searched
  }

  #beginBody(framing: Framing): void {
    if (framing === 0) this.#events.end()
    else if (typeof framing === 'number') {
      this.#state = 'length'
      this.#remaining = framing
    } else if (framing === 'chunked') {
      this.#state = 'size'
      this.#lineLength = 0
    } else this.#state = framing === 'close' ? 'close' : 'raw'
  }

  #scanFixedBody(chunk: Buffer, offset: number): number {
    const end = Math.min(chunk.length, offset + this.#remaining)
    this.#remaining -= end - offset
    const part = offset === 0 && end === chunk.length ? chunk : chunk.subarray(offset, end)
    this.#events.body(part)
    this.#events.data?.(part)
    if (this.#remaining === 0) {
      this.#state = 'head'
      this.#events.end()
    }
    return end
  }

  /** Scans chunk sizes and trailers byte by byte and skips the data, so the cost is per chunk. */
  #scanChunkedBody(chunk: Buffer, from: number): number {
    let offset = from
    while (offset < chunk.length) {
      if (this.#state === 'data') {
        const step = Math.min(chunk.length - offset, this.#remaining)
        // The last two bytes are the CRLF.
        if (this.#remaining > 2)
          this.#events.data?.(chunk.subarray(offset, offset + Math.min(step, this.#remaining - 2)))
        offset += step
        this.#remaining -= step
        if (this.#remaining === 0) this.#state = 'size'
        continue
      }
      const byte = chunk[offset++]!
      const outcome = this.#state === 'size' ? this.#scanSizeByte(byte) : this.#scanTrailerByte(byte)
      if (outcome === 'end') {
        this.#events.body(chunk.subarray(from, offset))
        this.#state = 'head'
        this.#events.end()
        return offset
      }
      if (outcome === 'malformed') {
        this.#state = 'raw'
        this.#events.raw(chunk.subarray(from))
        return chunk.length
      }
    }
    this.#events.body(from === 0 ? chunk : chunk.subarray(from))
    return offset
  }

  #scanSizeByte(byte: number): 'malformed' | undefined {
    this.#lineLength++
    if (byte !== LF) {
      const digit = HEX_VALUES[byte]!
      if (digit !== 255 && this.#digits === this.#lineLength - 1) {
        this.#size = this.#size * 16 + digit
        this.#digits++
      } else if (this.#lineLength === 1) return 'malformed'
      const tooLong = this.#lineLength > MAX_CHUNK_LINE_BYTES || this.#digits > MAX_CHUNK_SIZE_DIGITS
      return tooLong ? 'malformed' : undefined
    }
    if (this.#digits === 0) return 'malformed'
    const size = this.#size
    this.#size = 0
    this.#digits = 0
    this.#lineLength = 0
    if (size === 0) {
      this.#state = 'trailer'
      this.#remaining = MAX_HEAD_BYTES
    } else {
      this.#state = 'data'
      this.#remaining = size + 2 // Includes the CRLF after the data.
    }
    return undefined
  }

  #scanTrailerByte(byte: number): 'end' | 'malformed' | undefined {
    if (--this.#remaining < 0) return 'malformed'
    if (byte === LF) {
      const blank = this.#lineLength === 0
      this.#lineLength = 0
      return blank ? 'end' : undefined
    }
    if (byte !== CR) this.#lineLength++
    return undefined
  }
}

/** Parses the framing fields of a head in one pass. */
export function parseHead(bytes: Buffer): MessageHead {
  const text = bytes.toString('latin1', 0, bytes.length - 4)
  let end = text.indexOf('\r\n')
  const head: MessageHead = {
    text,
    line: end < 0 ? text : text.slice(0, end),
    contentLength: undefined,
    chunked: false,
  }
  while (end >= 0) {
    const start = end + 2
    end = text.indexOf('\r\n', start)
    const colon = text.indexOf(':', start)
    if (colon < 0) break
    // Compare a name only when its length matches.
    const length = colon - start
    if (length !== 14 && length !== 17) continue
    const name = text.slice(start, colon).toLowerCase()
    const value = () => trimOws(text.slice(colon + 1, end < 0 ? text.length : end))
    if (name === 'content-length') {
      const parsed = parseContentLength(value())
      head.contentLength =
        head.contentLength === undefined || head.contentLength === parsed ? parsed : Number.NaN
    } else if (name === 'transfer-encoding') {
      head.chunked = /(^|[, \t])chunked$/i.test(value())
    }
  }
  return head
}

/** The framing of a request, from its head. */
export function requestFraming({ line, contentLength, chunked }: MessageHead): Framing {
  if (!/^[!-~]+ [!-~\u0080-\u00ff]+ HTTP\/1\.[01]$/.test(line) || Number.isNaN(contentLength)) return 'stop'
  return chunked ? 'chunked' : (contentLength ?? 0)
}

/** The status code of a status line; 0 when it is not one. */
export function parseStatus(line: string): number {
  return /^HTTP\/1\.[01] [1-9]\d\d( |$)/.test(line) ? Number(line.slice(9, 12)) : 0
}

/** The framing of a response, which also depends on the request method. */
export function responseFraming({ line, contentLength, chunked }: MessageHead, method: string): Framing {
  const status = parseStatus(line)
  if (status === 0 || status === 101 || (method === 'CONNECT' && status < 300)) return 'stop'
  if (status < 200 || !hasResponseBody(method, status)) return 0
  if (chunked) return 'chunked'
  if (contentLength === undefined) return 'close'
  return Number.isNaN(contentLength) ? 'stop' : contentLength
}

/** Name and value of every header field, in order, as sent. */
export function parseHeaderFields(head: Buffer): [name: string, value: string][] {
  const lines = head.toString('latin1', 0, Math.max(0, head.length - 4)).split('\r\n')
  const fields: [string, string][] = []
  for (const line of lines.slice(1)) {
    const colon = line.indexOf(':')
    if (colon > 0) fields.push([trimOws(line.slice(0, colon)), trimOws(line.slice(colon + 1))])
  }
  return fields
}

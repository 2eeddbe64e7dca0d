import { HEX } from './ascii.ts'
import type { FieldNames } from './field-names.ts'
import { FieldFacts, scanFields } from './field-scan.ts'

/** Limits of chunked framing (P20). */
const MAX_DIGITS = 8
const MAX_EXTENSIONS = 1024
const MAX_TRAILERS = 4096
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
  bad: 8,
} as const
type State = (typeof State)[keyof typeof State]

const NOTHING = Buffer.alloc(0)

/**
 * Takes chunked framing off a body, strictly, so that it can be framed anew: whatever extensions, odd sizes or forged
 * trailers it had do not reach the next reader (P24). Data of several chunks is moved together inside the piece it
 * came in, so that many small chunks become one.
 */
export class ChunkedBody {
  /** Trailer lines to pass on, each ended by CRLF; known once `done`. */
  trailers = ''
  readonly #names: FieldNames
  #state: State = State.size
  #size = 0
  #digits = 0
  #extensions = 0
  #left = 0
  #trailers = ''
  #end = 0

  constructor(names: FieldNames) {
    this.#names = names
  }

  get done(): boolean {
    return this.#state === State.done
  }

  get bad(): boolean {
    return this.#state === State.bad
  }

  /** How much of the last piece belonged to this body; the rest is the next message. */
  get end(): number {
    return this.#end
  }

  /** The data in this piece, possibly none; uses the memory of the piece. Look at `done` and `bad` afterwards. */
  take(piece: Buffer): Buffer {
    let p = 0
    let start = 0
    let size = 0
    while (p < piece.length && this.#state < State.done) {
      if (this.#state === State.data) {
        const count = Math.min(this.#left, piece.length - p)
        if (size === 0) start = p
        else piece.copyWithin(start + size, p, p + count)
        size += count
        p += count
        this.#left -= count
        if (this.#left === 0) this.#state = State.dataCr
      } else if (this.#state === State.trailers) p = this.#takeTrailers(piece, p)
      else this.#takeByte(piece[p++]!)
    }
    this.#end = p
    return size === 0 ? NOTHING : piece.subarray(start, start + size)
  }

  #takeByte(c: number): void {
    switch (this.#state) {
      case State.size: {
        const digit = HEX[c]!
        if (digit !== 255) {
          this.#size = this.#size * 16 + digit
          if (++this.#digits > MAX_DIGITS) this.#state = State.bad
        } else if (this.#digits === 0) this.#state = State.bad
        else if (c === CR) this.#state = State.sizeLf
        else this.#state = c === SEMICOLON ? State.extension : State.bad
        return
      }
      case State.extension:
        if (++this.#extensions > MAX_EXTENSIONS) this.#state = State.bad
        else if (c === CR) this.#state = State.sizeLf
        else if ((c < SPACE && c !== TAB) || c === 127) this.#state = State.bad
        return
      case State.sizeLf:
        if (c !== LF) this.#state = State.bad
        else this.#state = this.#size === 0 ? State.trailers : State.data
        this.#left = this.#size
        this.#size = 0
        this.#digits = 0
        return
      case State.dataCr:
        this.#state = c === CR ? State.dataLf : State.bad
        return
      default:
        this.#state = c === LF ? State.size : State.bad
    }
  }

  #takeTrailers(piece: Buffer, at: number): number {
    const before = this.#trailers.length
    const text =
      this.#trailers + piece.toString('latin1', at, Math.min(piece.length, at + MAX_TRAILERS + 4 - before))
    const end = text.startsWith('\r\n') ? 2 : text.indexOf('\r\n\r\n') + 4
    if (end === 3) {
      if (text.length > MAX_TRAILERS + 2) this.#state = State.bad
      this.#trailers = text
      return at + text.length - before
    }
    this.#state = end - 2 > MAX_TRAILERS || !this.#readTrailers(text.slice(0, end)) ? State.bad : State.done
    return at + end - before
  }

  #readTrailers(text: string): boolean {
    if (text.length === 2) return true
    const facts = new FieldFacts()
    const fault = scanFields(text, 0, this.#names, MAX_TRAILER_FIELDS, facts)
    // Fields with a meaning were left out: a trailer may not frame, route or identify anything.
    this.trailers = facts.kept
    return fault === undefined
  }
}

/** The line before a chunk of this size. */
export function chunkStart(size: number): string {
  return `${size.toString(16)}\r\n`
}

/** The end of a chunked body with these trailer lines. */
export function chunkedEnd(trailers: string): string {
  return trailers === '' ? '0\r\n\r\n' : `0\r\n${trailers}\r\n`
}

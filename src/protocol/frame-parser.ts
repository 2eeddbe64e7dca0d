import { ErrorCode, FrameType, HEADER_BYTES, MuxError } from './frame.ts'

/** Who is told of the frames found. A DATA frame comes as one header, any number of pieces, one end. */
export interface FrameHandler {
  onDataHeader(id: number, length: number, flags: number): void
  onDataPiece(piece: Buffer): void
  onDataEnd(): void
  onReset(id: number, code: number): void
  onWindow(id: number, increment: number): void
  /** The last frame of a session: nothing is parsed after it. */
  onGoAway(lastId: number, code: number, text: string): void
}

const IN_HEADER = 0
const IN_DATA = 1
const IN_CONTROL = 2
const STOPPED = 3

const GOAWAY_TEXT_LIMIT = 1024

/**
 * Finds frames in whatever pieces the transport hands over. Payload is passed on as it arrives, never joined, so a
 * peer that announces 16 MiB makes us hold nothing.
 */
export class FrameParser {
  readonly #handler: FrameHandler
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerFilled = 0
  #state = IN_HEADER
  #left = 0
  #type = 0
  #id = 0
  #control: Buffer | undefined
  #controlFilled = 0

  constructor(handler: FrameHandler) {
    this.#handler = handler
  }

  /** Parses nothing more; may be called from within the handler. */
  stop(): void {
    this.#state = STOPPED
  }

  /** Takes the next bytes; throws `MuxError` at a malformed frame, after which the session is over. */
  push(chunk: Buffer): void {
    const end = chunk.length
    let at = 0
    while (at < end) {
      if (this.#state === IN_HEADER) {
        if (this.#headerFilled === 0 && end - at >= HEADER_BYTES) {
          this.#begin(chunk, at)
          at += HEADER_BYTES
          continue
        }
        const take = Math.min(HEADER_BYTES - this.#headerFilled, end - at)
        chunk.copy(this.#header, this.#headerFilled, at, at + take)
        this.#headerFilled += take
        at += take
        if (this.#headerFilled < HEADER_BYTES) return
        this.#headerFilled = 0
        this.#begin(this.#header, 0)
      } else if (this.#state === IN_DATA) {
        const take = Math.min(this.#left, end - at)
        this.#left -= take
        this.#handler.onDataPiece(take === end ? chunk : chunk.subarray(at, at + take))
        at += take
        if (this.#left === 0 && this.#state === IN_DATA) {
          this.#state = IN_HEADER
          this.#handler.onDataEnd()
        }
      } else if (this.#state === IN_CONTROL) {
        const control = this.#control!
        const take = Math.min(control.length - this.#controlFilled, end - at)
        chunk.copy(control, this.#controlFilled, at, at + take)
        this.#controlFilled += take
        at += take
        if (this.#controlFilled === control.length) this.#finishControl(control, chunk, at)
      } else return
    }
  }

  #begin(from: Buffer, at: number): void {
    const length = (from[at]! << 16) | (from[at + 1]! << 8) | from[at + 2]!
    const type = from[at + 3]! >> 4
    const flags = from[at + 3]! & 15
    const id = ((from[at + 4]! & 0x7f) << 24) | (from[at + 5]! << 16) | (from[at + 6]! << 8) | from[at + 7]!
    if (type === FrameType.Data) {
      if (id === 0) throw new MuxError(ErrorCode.Protocol, 'A DATA frame names stream 0.')
      this.#left = length
      this.#state = length === 0 ? IN_HEADER : IN_DATA
      this.#handler.onDataHeader(id, length, flags)
      if (length === 0 && this.#state !== STOPPED) this.#handler.onDataEnd()
      return
    }
    if (type > FrameType.GoAway) throw new MuxError(ErrorCode.Protocol, `There is no frame type ${type}.`)
    this.#type = type
    this.#id = id
    if (type === FrameType.GoAway) {
      if (id !== 0) throw new MuxError(ErrorCode.Protocol, 'A GOAWAY frame names a stream.')
      // The Rust SDKs count only the text in the header, so the eight fixed bytes are read whatever it says.
      this.#expect(Math.min(Math.max(length, 8), 8 + GOAWAY_TEXT_LIMIT))
      return
    }
    if (id === 0) throw new MuxError(ErrorCode.Protocol, 'A stream frame names stream 0.')
    if (length !== 4)
      throw new MuxError(ErrorCode.FrameSize, `A control frame has ${length} bytes instead of 4.`)
    this.#expect(4)
  }

  #expect(bytes: number): void {
    this.#state = IN_CONTROL
    this.#controlFilled = 0
    // Four bytes are by far the most common and may be reused: they are read before the next frame begins.
    this.#control = bytes === 4 && this.#control?.length === 4 ? this.#control : Buffer.alloc(bytes)
  }

  #finishControl(control: Buffer, chunk: Buffer, rest: number): void {
    this.#state = IN_HEADER
    const value = control.readUInt32BE(0)
    if (this.#type === FrameType.Rst) this.#handler.onReset(this.#id, value)
    else if (this.#type === FrameType.WndInc) this.#handler.onWindow(this.#id, value & 0x7fff_ffff)
    else {
      this.#state = STOPPED
      const text = control.toString('utf8', 8) + chunk.toString('utf8', rest, rest + 8)
      this.#handler.onGoAway(value & 0x7fff_ffff, control.readUInt32BE(4), text)
    }
  }
}

import { ErrorCode, FrameType, HEADER_BYTES, MAX_NOTE_BYTES, MuxError } from './frame.ts'

/** Receives parsed frames. A DATA frame is one header, any number of chunks and one end. */
export interface FrameHandler {
  onDataHeader(id: number, length: number, flags: number): void
  onDataChunk(chunk: Buffer): void
  onDataEnd(): void
  onReset(id: number, code: number): void
  onWindow(id: number, increment: number): void
  /** The payload is valid during the call only. */
  onNote(id: number, payload: Buffer): void
  /** The last frame of a session: nothing is parsed after it. */
  onGoAway(lastId: number, code: number, text: string): void
}

const IN_HEADER = 0
const IN_DATA = 1
const IN_CONTROL = 2
const STOPPED = 3

const MAX_GOAWAY_TEXT_BYTES = 1024

/**
 * Parses frames from chunks of any size. Payload is passed on as it arrives and never joined, so a peer that announces
 * 16 MiB makes the parser buffer nothing.
 */
export class FrameParser {
  /** NOTE frames are an extension, for peers that were told of it. */
  acceptsNotes = false
  readonly #handler: FrameHandler
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerFilled = 0
  #state = IN_HEADER
  #remaining = 0
  #type = 0
  #id = 0
  #control = Buffer.alloc(4)
  #controlFilled = 0

  constructor(handler: FrameHandler) {
    this.#handler = handler
  }

  /** Stops parsing; may be called from the handler. */
  stop(): void {
    this.#state = STOPPED
  }

  /** Parses the next bytes; throws `MuxError` at a malformed frame, which ends the session. */
  push(chunk: Buffer): void {
    const end = chunk.length
    let offset = 0
    while (offset < end) {
      if (this.#state === IN_HEADER) {
        if (this.#headerFilled === 0 && end - offset >= HEADER_BYTES) {
          this.#parseHeader(chunk, offset)
          offset += HEADER_BYTES
          continue
        }
        const length = Math.min(HEADER_BYTES - this.#headerFilled, end - offset)
        chunk.copy(this.#header, this.#headerFilled, offset, offset + length)
        this.#headerFilled += length
        offset += length
        if (this.#headerFilled < HEADER_BYTES) return
        this.#headerFilled = 0
        this.#parseHeader(this.#header, 0)
      } else if (this.#state === IN_DATA) {
        const length = Math.min(this.#remaining, end - offset)
        this.#remaining -= length
        this.#handler.onDataChunk(length === end ? chunk : chunk.subarray(offset, offset + length))
        offset += length
        if (this.#remaining === 0 && this.#state === IN_DATA) {
          this.#state = IN_HEADER
          this.#handler.onDataEnd()
        }
      } else if (this.#state === IN_CONTROL) {
        const control = this.#control
        const length = Math.min(control.length - this.#controlFilled, end - offset)
        chunk.copy(control, this.#controlFilled, offset, offset + length)
        this.#controlFilled += length
        offset += length
        if (this.#controlFilled === control.length) this.#finishControl(control, chunk, offset)
      } else return
    }
  }

  #parseHeader(source: Buffer, offset: number): void {
    const start = source.readUInt32BE(offset)
    const length = start >>> 8
    const type = (start >>> 4) & 15
    const flags = start & 15
    const id = source.readUInt32BE(offset + 4) & 0x7fffffff
    if (type === FrameType.Data) {
      if (id === 0) throw new MuxError(ErrorCode.Protocol, 'A DATA frame names stream 0.')
      this.#remaining = length
      this.#state = length === 0 ? IN_HEADER : IN_DATA
      this.#handler.onDataHeader(id, length, flags)
      if (length === 0 && this.#state !== STOPPED) this.#handler.onDataEnd()
      return
    }
    if (type > (this.acceptsNotes ? FrameType.Note : FrameType.GoAway))
      throw new MuxError(ErrorCode.Protocol, `There is no frame type ${type}.`)
    this.#type = type
    this.#id = id
    if (type === FrameType.GoAway) {
      if (id !== 0) throw new MuxError(ErrorCode.Protocol, 'A GOAWAY frame names a stream.')
      // The Rust SDKs count only the text in the length, so the eight fixed bytes are always read.
      this.#expectControl(Math.min(Math.max(length, 8), 8 + MAX_GOAWAY_TEXT_BYTES))
      return
    }
    if (id === 0) throw new MuxError(ErrorCode.Protocol, 'A stream frame names stream 0.')
    if (type === FrameType.Note) {
      if (length === 0 || length > MAX_NOTE_BYTES)
        throw new MuxError(ErrorCode.FrameSize, `A NOTE frame has ${length} bytes.`)
      this.#expectControl(length)
      return
    }
    if (length !== 4)
      throw new MuxError(ErrorCode.FrameSize, `A control frame has ${length} bytes instead of 4.`)
    this.#expectControl(4)
  }

  #expectControl(bytes: number): void {
    this.#state = IN_CONTROL
    this.#controlFilled = 0
    // Reused when it fits: it is read before the next frame begins.
    if (this.#control.length !== bytes) this.#control = Buffer.alloc(bytes)
  }

  #finishControl(control: Buffer, chunk: Buffer, offset: number): void {
    this.#state = IN_HEADER
    if (this.#type === FrameType.Note) {
      this.#handler.onNote(this.#id, control)
      return
    }
    const value = control.readUInt32BE(0)
    if (this.#type === FrameType.Rst) this.#handler.onReset(this.#id, value)
    else if (this.#type === FrameType.WndInc) this.#handler.onWindow(this.#id, value & 0x7fff_ffff)
    else {
      this.#state = STOPPED
      const text = control.toString('utf8', 8) + chunk.toString('utf8', offset, offset + 8)
      this.#handler.onGoAway(value & 0x7fff_ffff, control.readUInt32BE(4), text)
    }
  }
}

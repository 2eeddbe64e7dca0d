import {
  frameFault,
  frameHeadLength,
  MAX_FRAME_HEAD_BYTES,
  payloadLength,
} from '../../base/http/websocket-frame.ts'

/** Follows the frames of one direction of a WebSocket, so that another one can be put between two of them. */
export class FrameBoundaries {
  /** The head of the current frame, as far as it was received. */
  readonly #head = Buffer.alloc(MAX_FRAME_HEAD_BYTES)
  #headBytes = 0
  /** Bytes of its payload that are still to come. */
  #remaining = 0
  /** False once something was sent that is not WebSocket. */
  #isValid = true

  /** Whether a frame may begin now. */
  get isBetween(): boolean {
    return this.#isValid && this.#headBytes === 0 && this.#remaining === 0
  }

  /** Follows a chunk; returns how many of its bytes reach to the first end of a frame, or -1 when none ends in it. */
  push(chunk: Buffer): number {
    let end = -1
    for (let offset = 0; offset < chunk.length && this.#isValid; ) {
      offset +=
        this.#remaining > 0 ? this.#skipPayload(chunk.length - offset) : this.#readHead(chunk[offset]!)
      if (end === -1 && this.isBetween) end = offset
    }
    return end
  }

  #skipPayload(available: number): number {
    const size = Math.min(this.#remaining, available)
    this.#remaining -= size
    return size
  }

  #readHead(byte: number): number {
    const head = this.#head
    head[this.#headBytes++] = byte
    if (this.#headBytes >= 2 && this.#headBytes === frameHeadLength(head[1]!)) {
      this.#isValid = frameFault(head[0]!, head[1]!) === undefined
      this.#remaining = payloadLength(head)
      this.#headBytes = 0
    }
    return 1
  }
}

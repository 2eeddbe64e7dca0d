import { constants, inflateRawSync } from 'node:zlib'

/** The bytes that permessage-deflate removes from the end of every message (RFC 7692 section 7.2.1). */
const DEFLATE_TAIL = Buffer.from([0, 0, 0xff, 0xff])
const WINDOW_BYTES = 32_768
/** Bounds the time that decompression takes away from traffic. */
const MAX_DECODED_BYTES = 256 * 1024

/**
 * Decompresses the permessage-deflate messages of one direction, in order. After a message that cannot be decoded, the
 * later ones cannot be either, unless the sender uses no context takeover.
 */
export class MessageInflater {
  readonly #keepsContext: boolean
  /** The last decoded bytes, which later messages refer to. */
  #window: Buffer | undefined
  #contextLost = false

  constructor(keepsContext: boolean) {
    this.#keepsContext = keepsContext
  }

  /** The decompressed payload, or undefined if it cannot be decoded. */
  decode(payload: Buffer): Buffer | undefined {
    if (this.#contextLost) return undefined
    try {
      const decoded = inflateRawSync(Buffer.concat([payload, DEFLATE_TAIL]), {
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: MAX_DECODED_BYTES,
        ...(this.#window ? { dictionary: this.#window } : {}),
      })
      if (this.#keepsContext) this.#window = slideWindow(this.#window, decoded)
      return decoded
    } catch {
      this.skip()
      return undefined
    }
  }

  /** Notes a message that was not captured completely. */
  skip(): void {
    this.#contextLost = this.#keepsContext
    this.#window = undefined
  }
}

function slideWindow(window: Buffer | undefined, decoded: Buffer): Buffer {
  if (window === undefined || decoded.length >= WINDOW_BYTES)
    return Buffer.from(decoded.subarray(-WINDOW_BYTES))
  return Buffer.from(Buffer.concat([window, decoded]).subarray(-WINDOW_BYTES))
}

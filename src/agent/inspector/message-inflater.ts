import { constants, inflateRawSync } from 'node:zlib'

/** What permessage-deflate (RFC 7692) leaves out at the end of every message. */
const DEFLATE_TAIL = Buffer.from([0, 0, 0xff, 0xff])
const WINDOW_BYTES = 32_768
/** More is not unpacked: it would keep the agent from its traffic. */
const MAX_DECODED_BYTES = 256 * 1024

/**
 * Undoes permessage-deflate for looking at, message by message in their order. A message that could not be decoded
 * leaves those after it without what they refer to, unless each was compressed by itself.
 */
export class MessageInflater {
  readonly #keepsContext: boolean
  /** The end of what was decoded so far: later messages refer to it. */
  #window: Buffer | undefined
  #contextLost = false

  constructor(keepsContext: boolean) {
    this.#keepsContext = keepsContext
  }

  /** The payload as it was before it was compressed; undefined when that cannot be told. */
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

  /** A message passed that was not kept whole. */
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

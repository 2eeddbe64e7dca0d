/** The most that is kept of one body. */
export const MAX_BODY = 1024 * 1024

/** What is kept of a message: its head, as much of its body as fits, and how much there was. */
export class MessageCopy {
  readonly head: Buffer
  /** Bytes of the body that came, kept or not. */
  bodyBytes = 0
  /** True when the bytes kept are not the whole message: the body was too long, or the message never ended. */
  truncated = false
  /** False once a header value was left out on purpose. */
  readonly exact: boolean
  #body: Buffer[] | undefined
  #kept = 0

  constructor(head: Buffer, exact: boolean) {
    this.head = head
    this.exact = exact
  }

  /** Bytes this copy holds in memory. */
  get size(): number {
    return this.head.length + this.#kept
  }

  /** Takes a piece of the body as far as there is room; gives the number of bytes kept. */
  add(piece: Buffer): number {
    this.bodyBytes += piece.length
    const room = MAX_BODY - this.#kept
    const kept = Math.min(room, piece.length)
    if (kept < piece.length) this.truncated = true
    if (kept <= 0) return 0
    const copy = ownCopy(piece, kept)
    if (this.#body) this.#body.push(copy)
    else this.#body = [copy]
    this.#kept += kept
    return kept
  }

  /** Head and body as they stood on the wire. */
  raw(): Buffer {
    return Buffer.concat([this.head, ...(this.#body ?? [])])
  }

  /** The body alone, framing included. */
  body(): Buffer {
    return Buffer.concat(this.#body ?? [])
  }
}

/** A copy that does not hold on to the block its piece was cut from; small ones share Node's pool. */
export function ownCopy(piece: Buffer, length = piece.length): Buffer {
  const copy = length < 2048 ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length)
  piece.copy(copy, 0, 0, length)
  return copy
}

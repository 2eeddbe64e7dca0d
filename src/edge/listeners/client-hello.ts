import { isHostName } from '../../base/hostport.ts'
import { ByteQueue } from '../../base/io/byte-queue.ts'

/** The largest ClientHello read, and the most bytes it may be spread over with its record headers. */
const MAX_HELLO = 16 * 1024
const MAX_BYTES = 20 * 1024

const HANDSHAKE = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0

/** TLS alert `unrecognized_name`: what a client is told whose server name leads nowhere. */
export const UNRECOGNIZED_NAME = Buffer.from([21, 3, 3, 0, 2, 2, 112])

/**
 * Reads the server name from the first bytes of a TLS connection without touching them, however they are cut into
 * records and segments (P35). Whatever is not a well-formed hello with one valid name is bad: nothing falls back to a
 * default policy.
 */
export class HelloReader {
  /** Lower case, without a final dot; set when `push` has said `done`. */
  serverName = ''
  readonly #held = new ByteQueue()
  readonly #message = new ByteQueue()
  /** Where the next record begins. */
  #at = 0

  /** All bytes so far, to be passed on as they are. */
  get bytes(): Buffer {
    return this.#held.bytes
  }

  push(chunk: Buffer): 'more' | 'done' | 'bad' {
    this.#held.push(chunk)
    const { bytes } = this.#held
    while (bytes.length - this.#at >= 5) {
      const length = bytes.readUInt16BE(this.#at + 3)
      if (bytes[this.#at] !== HANDSHAKE || bytes[this.#at + 1] !== 3) return 'bad'
      if (length === 0 || length > MAX_HELLO) return 'bad'
      if (bytes.length - this.#at < 5 + length) break
      this.#message.push(bytes.subarray(this.#at + 5, this.#at + 5 + length))
      this.#at += 5 + length
      const result = this.#readMessage()
      if (result !== 'more') return result
    }
    // Only a byte that cannot begin a record is refused before the record is complete.
    if (bytes.length > this.#at && bytes[this.#at] !== HANDSHAKE) return 'bad'
    return bytes.length > MAX_BYTES ? 'bad' : 'more'
  }

  #readMessage(): 'more' | 'done' | 'bad' {
    const message = this.#message.bytes
    if (message[0] !== CLIENT_HELLO) return 'bad'
    if (message.length < 4) return 'more'
    const length = message.readUIntBE(1, 3)
    if (length > MAX_HELLO) return 'bad'
    if (message.length < 4 + length) return 'more'
    const name = serverNameIn(message.subarray(4, 4 + length))
    if (name === undefined) return 'bad'
    this.serverName = name
    return 'done'
  }
}

/** The bytes after a length of `width` bytes at `at`, undefined when they are not all there. */
function vector(bytes: Buffer, at: number, width: 1 | 2): Buffer | undefined {
  if (at + width > bytes.length) return undefined
  const length = bytes.readUIntBE(at, width)
  return at + width + length > bytes.length ? undefined : bytes.subarray(at + width, at + width + length)
}

/** RFC 8446 section 4.1.2 as far as the extensions, then RFC 6066 section 3. */
function serverNameIn(hello: Buffer): string | undefined {
  const session = vector(hello, 34, 1)
  if (session === undefined) return undefined
  let at = 35 + session.length
  const suites = vector(hello, at, 2)
  if (suites === undefined) return undefined
  at += 2 + suites.length
  const compressions = vector(hello, at, 1)
  if (compressions === undefined) return undefined
  at += 1 + compressions.length
  const extensions = vector(hello, at, 2)
  if (extensions === undefined || at + 2 + extensions.length !== hello.length) return undefined
  let found: string | undefined
  for (let p = 0; p < extensions.length; ) {
    const body = vector(extensions, p + 2, 2)
    if (body === undefined) return undefined
    if (extensions.readUInt16BE(p) === SERVER_NAME) {
      if (found !== undefined) return undefined
      found = nameIn(body)
      if (found === undefined) return undefined
    }
    p += 4 + body.length
  }
  return found
}

function nameIn(extension: Buffer): string | undefined {
  const list = vector(extension, 0, 2)
  if (list === undefined || list.length + 2 !== extension.length || list[0] !== 0) return undefined
  const name = vector(list, 1, 2)
  if (name === undefined || name.length + 3 !== list.length) return undefined
  const text = name.toString('latin1').toLowerCase()
  const host = text.endsWith('.') ? text.slice(0, -1) : text
  return isHostName(host) ? host : undefined
}

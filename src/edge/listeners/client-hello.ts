import { isHostName } from '../../base/hostport.ts'
import { ByteQueue } from '../../base/io/byte-queue.ts'

/** Max size of a ClientHello, and of its records with their headers. */
const MAX_HELLO_BYTES = 16 * 1024
const MAX_BUFFERED_BYTES = 20 * 1024

const HANDSHAKE = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0

/** The TLS alert `unrecognized_name`, sent for a server name that the edge does not serve (decision 45). */
export const UNRECOGNIZED_NAME = Buffer.from([21, 3, 3, 0, 2, 2, 112])

/**
 * Parses the server name from the first bytes of a TLS connection without consuming them, however they are split into
 * records and segments (P35). Anything but a well-formed ClientHello with one valid name is `bad`: nothing falls back to
 * a default policy.
 */
export class ClientHelloParser {
  /** Lower case, without a trailing dot; set once `push` has returned `done`. */
  serverName = ''
  readonly #buffer = new ByteQueue()
  readonly #message = new ByteQueue()
  /** Offset of the next record. */
  #recordStart = 0

  /** All bytes so far, to be forwarded unchanged. */
  get bytes(): Buffer {
    return this.#buffer.bytes
  }

  push(chunk: Buffer): 'more' | 'done' | 'bad' {
    this.#buffer.push(chunk)
    const { bytes } = this.#buffer
    while (bytes.length - this.#recordStart >= 5) {
      const length = bytes.readUInt16BE(this.#recordStart + 3)
      if (bytes[this.#recordStart] !== HANDSHAKE || bytes[this.#recordStart + 1] !== 3) return 'bad'
      if (length === 0 || length > MAX_HELLO_BYTES) return 'bad'
      if (bytes.length - this.#recordStart < 5 + length) break
      this.#message.push(bytes.subarray(this.#recordStart + 5, this.#recordStart + 5 + length))
      this.#recordStart += 5 + length
      const result = this.#parseMessage()
      if (result !== 'more') return result
    }
    // A first byte that cannot begin a record is rejected at once; everything else waits for the complete record.
    if (bytes.length > this.#recordStart && bytes[this.#recordStart] !== HANDSHAKE) return 'bad'
    return bytes.length > MAX_BUFFERED_BYTES ? 'bad' : 'more'
  }

  #parseMessage(): 'more' | 'done' | 'bad' {
    const message = this.#message.bytes
    if (message[0] !== CLIENT_HELLO) return 'bad'
    if (message.length < 4) return 'more'
    const length = message.readUIntBE(1, 3)
    if (length > MAX_HELLO_BYTES) return 'bad'
    if (message.length < 4 + length) return 'more'
    const name = parseServerName(message.subarray(4, 4 + length))
    if (name === undefined) return 'bad'
    this.serverName = name
    return 'done'
  }
}

/** The bytes after a length field of `width` bytes at `offset`, undefined when the buffer is too short. */
function readVector(bytes: Buffer, offset: number, width: 1 | 2): Buffer | undefined {
  if (offset + width > bytes.length) return undefined
  const length = bytes.readUIntBE(offset, width)
  return offset + width + length > bytes.length
    ? undefined
    : bytes.subarray(offset + width, offset + width + length)
}

/** RFC 8446 section 4.1.2 up to the extensions, then RFC 6066 section 3. */
function parseServerName(hello: Buffer): string | undefined {
  const sessionId = readVector(hello, 34, 1)
  if (sessionId === undefined) return undefined
  let offset = 35 + sessionId.length
  const cipherSuites = readVector(hello, offset, 2)
  if (cipherSuites === undefined) return undefined
  offset += 2 + cipherSuites.length
  const compressionMethods = readVector(hello, offset, 1)
  if (compressionMethods === undefined) return undefined
  offset += 1 + compressionMethods.length
  const extensions = readVector(hello, offset, 2)
  if (extensions === undefined || offset + 2 + extensions.length !== hello.length) return undefined
  let serverName: string | undefined
  for (let position = 0; position < extensions.length; ) {
    const body = readVector(extensions, position + 2, 2)
    if (body === undefined) return undefined
    if (extensions.readUInt16BE(position) === SERVER_NAME) {
      if (serverName !== undefined) return undefined
      serverName = parseServerNameExtension(body)
      if (serverName === undefined) return undefined
    }
    position += 4 + body.length
  }
  return serverName
}

function parseServerNameExtension(extension: Buffer): string | undefined {
  const list = readVector(extension, 0, 2)
  if (list === undefined || list.length + 2 !== extension.length || list[0] !== 0) return undefined
  const name = readVector(list, 1, 2)
  if (name === undefined || name.length + 3 !== list.length) return undefined
  const text = name.toString('latin1').toLowerCase()
  const host = text.endsWith('.') ? text.slice(0, -1) : text
  return isHostName(host) ? host : undefined
}

import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { isHostName } from '../../base/values/hostport.ts'
import { type ClientHello, ja4Of, readVector, SERVER_NAME } from './ja4.ts'

/** Max size of a ClientHello, and of its records with their headers. */
const MAX_HELLO_BYTES = 16 * 1024
const MAX_BUFFERED_BYTES = 20 * 1024

const HANDSHAKE = 22
const CLIENT_HELLO = 1

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
  #hello: ClientHello | undefined
  /** Offset of the next record. */
  #recordStart = 0

  /** The JA4 fingerprint; empty until `push` has returned `done`. */
  get fingerprint(): string {
    return this.#hello === undefined ? '' : ja4Of(this.#hello)
  }

  /** All bytes so far, to be forwarded unchanged. */
  get bytes(): Buffer {
    return this.#buffer.bytes
  }

  /** Whether the bytes begin like a request of HTTP/1 without TLS. */
  get isHttp(): boolean {
    return /^[A-Z]{3,7} [/*h]/.test(this.#buffer.bytes.toString('latin1', 0, 16))
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
    const hello = parseHello(message.subarray(4, 4 + length))
    const name = hello && findServerName(hello)
    if (name === undefined) return 'bad'
    this.#hello = hello
    this.serverName = name
    return 'done'
  }
}

/** RFC 8446 section 4.1.2. */
function parseHello(hello: Buffer): ClientHello | undefined {
  const sessionId = readVector(hello, 34, 1)
  if (sessionId === undefined) return undefined
  let offset = 35 + sessionId.length
  const cipherSuites = readVector(hello, offset, 2)
  if (cipherSuites === undefined) return undefined
  offset += 2 + cipherSuites.length
  const compressionMethods = readVector(hello, offset, 1)
  if (compressionMethods === undefined) return undefined
  offset += 1 + compressionMethods.length
  const list = readVector(hello, offset, 2)
  if (list === undefined || offset + 2 + list.length !== hello.length) return undefined
  const extensions: { type: number; body: Buffer }[] = []
  for (let position = 0; position < list.length; ) {
    const body = readVector(list, position + 2, 2)
    if (body === undefined) return undefined
    extensions.push({ type: list.readUInt16BE(position), body })
    position += 4 + body.length
  }
  return { version: hello.readUInt16BE(0), cipherSuites, extensions }
}

/** RFC 6066 section 3: there is one such extension. */
function findServerName({ extensions }: ClientHello): string | undefined {
  const [extension, another] = extensions.filter(({ type }) => type === SERVER_NAME)
  return extension === undefined || another !== undefined
    ? undefined
    : parseServerNameExtension(extension.body)
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

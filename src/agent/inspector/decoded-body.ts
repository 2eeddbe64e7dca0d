import type { Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import { trimOws } from '../../base/http/optional-white-space.ts'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { MessageScanner, parseHeaderFields, requestFraming, responseFraming } from '../http1.ts'
import type { Capture } from './capture-store.ts'

/** A body without its chunked framing and content encodings, as far as they could be decoded. */
export interface DecodedBody {
  body: Buffer
  /** The decoded encodings, last applied first. */
  decoded: string[]
  /** Why the body is incomplete or not fully decoded. */
  problem: string | undefined
}

/** Protects against decompression bombs. */
const MAX_DECODED_BYTES = 8 * 1024 * 1024

/** A body that decompresses to itself could list thousands of encodings. */
const MAX_ENCODINGS = 4

/** RFC 9659: web decoders support windows of up to 8 MiB. */
const ZSTD_WINDOW_LOG = 23

const DECODERS = new Map<string, (body: Buffer) => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  // In practice `deflate` means both: with the zlib wrapper (RFC 9110 section 8.4.1.2), and without.
  ['deflate', (body: Buffer) => (hasZlibHeader(body) ? createInflate() : createInflateRaw())],
  ['br', () => createBrotliDecompress()],
  ['zstd', () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } })],
])

/** Decodes a captured body, outside the traffic path. */
export async function decodeBody(capture: Capture, side: 'request' | 'response'): Promise<DecodedBody> {
  const message = capture[side]
  if (!message) return { body: Buffer.alloc(0), decoded: [], problem: undefined }
  const encodings = parseHeaderFields(message.head)
    .filter(([name]) => name.toLowerCase() === 'content-encoding')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map(trimOws)
    .filter((name) => name !== '' && name !== 'identity')
  let body = stripFraming(capture, side)
  const decoded: string[] = []
  let problem = message.truncated ? 'only the beginning of the body was captured' : undefined
  for (const name of encodings.reverse()) {
    if (decoded.length === MAX_ENCODINGS)
      return { body, decoded, problem: `only ${MAX_ENCODINGS} encodings are decoded` }
    const decoder = DECODERS.get(name)
    if (!decoder) return { body, decoded, problem: `the encoding ${name.slice(0, 50)} is not supported` }
    if (body.length === 0) break
    const result = await decompress(body, decoder(body))
    if (result.problem !== undefined) problem = result.problem
    body = result.body
    decoded.push(name)
  }
  return { body, decoded, problem }
}

function stripFraming(capture: Capture, side: 'request' | 'response'): Buffer {
  const queue = new ByteQueue()
  const method = capture.request.head.toString('latin1', 0, capture.request.head.indexOf(' '))
  const scanner = new MessageScanner({
    head: (_bytes, head) => (side === 'request' ? requestFraming(head) : responseFraming(head, method)),
    body() {},
    data: (bytes) => void queue.push(bytes),
    end() {},
    raw() {},
  })
  scanner.push(capture[side]!.raw())
  return queue.take()
}

function hasZlibHeader(body: Buffer): boolean {
  return body.length > 1 && (body[0]! & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0
}

async function decompress(
  body: Buffer,
  decoder: Transform,
): Promise<{ body: Buffer; problem: string | undefined }> {
  const queue = new ByteQueue()
  let problem: string | undefined
  decoder.end(body)
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      queue.push(chunk)
      if (queue.length > MAX_DECODED_BYTES) {
        problem = `only the first ${MAX_DECODED_BYTES / 1024 / 1024} MiB are decoded`
        break
      }
    }
  } catch {
    problem = 'the data is damaged or cut short'
  }
  return { body: queue.take().subarray(0, MAX_DECODED_BYTES), problem }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageScanner, requestFraming, responseFraming } from '../src/agent/http1.ts'
import { Copier } from '../src/agent/inspector/copier.ts'
import { WebSocketScanner } from '../src/agent/inspector/websocket-scanner.ts'
import { headLength } from '../src/base/http/http1-framing.ts'
import { EdgeError } from '../src/edge/errors.ts'
import { ChunkedDecoder } from '../src/edge/message/chunked.ts'
import { requestNames } from '../src/edge/message/field-names.ts'
import { parseRequestHead } from '../src/edge/message/request-head.ts'
import { parseResponseHead } from '../src/edge/message/response-head.ts'
import { FrameReader } from '../src/edge/modules/websocket-frames.ts'

// The edge and the agent read the same bytes, one strictly to decide, the other leniently to show. Where both accept
// something they must agree on what it is, however the bytes are split.

/** The bytes as one read, as single bytes, and split in two at every position up to `limit`. */
function* splits(bytes: Buffer, limit = bytes.length): Generator<Buffer[]> {
  yield [bytes]
  yield Array.from(bytes, (byte) => Buffer.of(byte))
  for (let offset = 1; offset < Math.min(bytes.length, limit); offset++) {
    // Copied: the edge decodes a chunked body inside the buffer it arrived in.
    yield [Buffer.from(bytes.subarray(0, offset)), Buffer.from(bytes.subarray(offset))]
  }
}

/** A message with its body as data, and how many bytes of the input belong to it. */
interface ReadMessage {
  head: string
  data: string
  length: number
}

function readAtEdge(reads: readonly Buffer[], isRequest: boolean): ReadMessage {
  const all = Buffer.concat(reads)
  let searched = 0
  let received = 0
  let size = -1
  let next = 0
  for (; size === -1; next++) {
    received += reads[next]!.length
    size = headLength(all.subarray(0, received), searched)
    searched = received
  }
  const head = all.toString('latin1', 0, size)
  const parsed = isRequest ? parseRequestHead(head, 'https') : parseResponseHead(head)
  if (typeof parsed === 'string' || parsed instanceof EdgeError) throw new Error('The edge rejects the head.')
  const { chunked, contentLength } = parsed.framing
  if (!chunked) {
    const length = size + Math.max(0, contentLength)
    return { head, data: all.toString('latin1', size, length), length }
  }
  const decoder = new ChunkedDecoder(requestNames)
  let data = ''
  let length = size
  for (const read of [all.subarray(size, received), ...reads.slice(next)]) {
    if (decoder.done) break
    data += decoder.decode(Buffer.from(read)).toString('latin1')
    length += decoder.consumed
  }
  assert.ok(decoder.done && !decoder.failed)
  return { head, data, length }
}

function readAtAgent(reads: readonly Buffer[], isRequest: boolean): ReadMessage {
  const message: ReadMessage = { head: '', data: '', length: -1 }
  let wireBytes = 0
  const scanner = new MessageScanner({
    head(bytes, head) {
      // The next message is not of interest here.
      if (message.length !== -1) return 'stop'
      message.head = bytes.toString('latin1')
      wireBytes += bytes.length
      return isRequest ? requestFraming(head) : responseFraming(head, 'GET')
    },
    body(bytes) {
      wireBytes += bytes.length
    },
    data(bytes) {
      message.data += bytes.toString('latin1')
    },
    end() {
      message.length = wireBytes
    },
    raw() {},
  })
  for (const read of reads) scanner.push(Buffer.from(read))
  return message
}

const REQUEST = 'POST /a HTTP/1.1\r\nHost: a.example\r\n'
const RESPONSE = 'HTTP/1.1 200 OK\r\nServer: x\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n'
const MESSAGES: Record<string, string> = {
  'a request without a body': `${REQUEST}\r\n`,
  'a request with a length': `${REQUEST}Content-Length: 5\r\n\r\nhello`,
  'a length of zero, with white space': `${REQUEST}content-length:\t 0 \r\n\r\n`,
  'a chunked request': `${REQUEST}${CHUNKED}5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n`,
  'chunks with extensions and leading zeros': `${REQUEST}${CHUNKED}0005;a=b;c="d"\r\nhello\r\n0000\r\n\r\n`,
  'chunk sizes in both cases': `${REQUEST}${CHUNKED}a\r\n0123456789\r\nB\r\n\r\n\r\n\r\n\r\n\r\n.\r\n0\r\n\r\n`,
  trailers: `${REQUEST}${CHUNKED}1\r\n\n\r\n0\r\nX-Sum: 1\r\nX-Other: \r\n\r\n`,
  'a response with a length': `${RESPONSE}Content-Length: 3\r\n\r\nabc`,
  'a chunked response': `${RESPONSE}${CHUNKED}3\r\nabc\r\n0\r\n\r\n`,
}

for (const [name, text] of Object.entries(MESSAGES)) {
  test(`edge and agent read ${name} alike, split at every byte`, () => {
    const bytes = Buffer.from(`${text}GET /next`, 'latin1')
    const isRequest = text.startsWith(REQUEST)

    for (const reads of splits(bytes)) {
      const atEdge = readAtEdge(reads, isRequest)
      assert.equal(atEdge.length, text.length)
      assert.deepEqual(readAtAgent(reads, isRequest), atEdge)
    }
  })
}

/** Encodes one frame of a client. */
function frame(first: number, payload: string, length = Buffer.of(0x80 | payload.length)): Buffer {
  const mask = Buffer.of(1, 200, 3, 77)
  const masked = Buffer.from(payload, 'latin1').map((byte, index) => byte ^ mask[index % 4]!)
  return Buffer.concat([Buffer.of(first), length, mask, masked])
}

const length16 = (length: number) => Buffer.of(0x80 | 126, length >> 8, length & 255)
const length64 = (length: number) => Buffer.of(0x80 | 127, 0, 0, 0, 0, 0, length >> 16, length >> 8, length)
const TEXT = 0x81
const PING = 0x89

/** The payload of all messages, the pings, and whether the bytes were rejected. */
interface ReadFrames {
  data: string
  pings: string[]
  closed: boolean
  rejected: boolean
}

function readFramesAtEdge(reads: readonly Buffer[]): ReadFrames {
  const frames: ReadFrames = { data: '', pings: [], closed: false, rejected: false }
  const reader = new FrameReader({
    onPayload(bytes) {
      frames.data += bytes.toString('latin1')
    },
    onPing: (payload) => frames.pings.push(payload.toString('latin1')),
    onClose() {
      frames.closed = true
    },
  })
  for (const read of reads) frames.rejected ||= reader.push(read) !== undefined
  return frames
}

function readFramesAtAgent(reads: readonly Buffer[]): ReadFrames {
  const frames: ReadFrames = { data: '', pings: [], closed: false, rejected: false }
  const scanner = new WebSocketScanner(true, new Copier(), {
    onMessage({ opcode, payload, size }) {
      const text = payload.toString('latin1').padEnd(size, 'x')
      if (opcode < 8) frames.data += text
      else if (opcode === 9) frames.pings.push(text)
      else if (opcode === 8) frames.closed = true
    },
    onInvalid() {
      frames.rejected = true
    },
  })
  for (const read of reads) scanner.push(read)
  return frames
}

const FRAMES: Record<string, Buffer> = {
  'short frames': Buffer.concat([frame(TEXT, 'hello'), frame(0x82, ''), frame(TEXT, 'x')]),
  'a fragmented message with a ping inside': Buffer.concat([
    frame(0x01, 'a'),
    frame(0x00, ''),
    frame(PING, 'p'),
    frame(0x80, 'b'),
  ]),
  'pings without payload, a pong and a close': Buffer.concat([
    frame(PING, ''),
    frame(0x8a, 'q'),
    frame(0x88, '\x03\xe8'),
  ]),
  'the longest short frame': frame(TEXT, 'x'.repeat(125)),
  'a length of 16 bits': frame(TEXT, 'x'.repeat(300), length16(300)),
  'a length of 16 bits that 7 would hold': frame(TEXT, 'abc', length16(3)),
  'a length of 64 bits': frame(TEXT, 'x'.repeat(70_000), length64(70_000)),
  'an unknown opcode': frame(0x83, 'x'),
  'an unknown control frame': frame(0x8b, 'x'),
  'a fragmented control frame': frame(0x09, 'x'),
  'a control frame that is too long': frame(PING, 'x'.repeat(126), length16(126)),
  'a length beyond all numbers': frame(TEXT, '', Buffer.of(0xff, 0, 0x20, 0, 0, 0, 0, 0, 0)),
  'a reserved bit': frame(0xa1, 'x'),
  'a frame without a mask': Buffer.of(TEXT, 0),
}

for (const [name, bytes] of Object.entries(FRAMES)) {
  test(`edge and agent read ${name} alike, split at every byte`, () => {
    for (const reads of splits(bytes, 400)) {
      const atEdge = readFramesAtEdge(reads)
      assert.notDeepEqual(atEdge, { data: '', pings: [], closed: false, rejected: false })
      assert.deepEqual(readFramesAtAgent(reads), atEdge)
    }
  })
}

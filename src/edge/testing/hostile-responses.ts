import type { Socket } from 'node:net'
import { MAX_INTERIMS } from '../message/response-head.ts'
import { frame } from './http2-frame.ts'

/** How a hostile upstream responds on its connection. */
export interface HostileResponse {
  /** The upstream speaks HTTP/2. */
  readonly http2?: true
  /** Called with each connection once the request has arrived. */
  respond(socket: Socket): void
}

/** Repeats a chunk as long as the peer accepts it. */
function repeatForever(socket: Socket, start: string | Buffer, chunk: string | Buffer): void {
  const repeat = () => {
    while (!socket.destroyed && socket.write(chunk)) {}
  }
  socket.on('drain', repeat)
  socket.write(start)
  setImmediate(repeat)
}

const SETTINGS = frame(4, 0, 0, Buffer.alloc(0))
const OK = [':status', '200'] as const
/** Responses that cannot be forwarded. Each must end in a 502 or a reset, at little cost. */
export const hostileResponses: Readonly<Record<string, HostileResponse>> = {
  'an endless head': {
    respond: (socket) => repeatForever(socket, 'HTTP/1.1 200 OK\r\nX: ', 'a'.repeat(16_384)),
  },
  'endless fields': {
    respond: (socket) => repeatForever(socket, 'HTTP/1.1 200 OK\r\n', 'X-A: b\r\n'.repeat(1000)),
  },
  'endless interim responses': {
    respond: (socket) =>
      repeatForever(socket, '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100)),
  },
  'interim responses in one chunk': {
    respond: (socket) => void socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(MAX_INTERIMS + 1)),
  },
  'endless trailers': {
    respond: (socket) =>
      repeatForever(
        socket,
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n',
        'X-A: b\r\n'.repeat(1000),
      ),
  },
  'a head of very many fields': {
    respond: (socket) =>
      void socket.write(`HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(7000)}Content-Length: 0\r\n\r\n`),
  },
  'two lengths': {
    respond: (socket) =>
      void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok'),
  },
  'a length and chunks': {
    respond: (socket) =>
      void socket.write(
        'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      ),
  },
  'an endless chunk size': {
    respond: (socket) =>
      repeatForever(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '0'.repeat(16_384)),
  },
  'endless chunk extensions': {
    respond: (socket) =>
      repeatForever(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;', 'a'.repeat(16_384)),
  },
  'an HTTP/2 head of many fields': {
    http2: true,
    respond: (socket) =>
      void socket.write(
        Buffer.concat([
          SETTINGS,
          ...encodeHeaders([OK, ...Array.from({ length: 300 }, () => ['x-a', 'b'] as const)]),
        ]),
      ),
  },
  'an HTTP/2 head that decompresses to megabytes': {
    http2: true,
    respond: (socket) => {
      // A field that enters the dynamic table, then one byte for each repetition.
      const entry = Buffer.concat([Buffer.from([0x40]), encodeText('x-a'), encodeText('b'.repeat(126))])
      const bomb = Buffer.concat([encodeBlock([OK]), entry, Buffer.alloc(16_000, 0xbe)])
      socket.write(Buffer.concat([SETTINGS, frame(1, 4, 1, bomb)]))
    },
  },
  'endless HTTP/2 continuation frames': {
    http2: true,
    respond: (socket) =>
      repeatForever(
        socket,
        Buffer.concat([SETTINGS, frame(1, 0, 1, encodeBlock([OK]))]),
        frame(9, 0, 1, encodeBlock(Array.from({ length: 100 }, () => ['x-a', 'b'.repeat(100)] as const))),
      ),
  },
  'endless interim responses over HTTP/2': {
    http2: true,
    respond: (socket) => repeatForever(socket, SETTINGS, Buffer.concat(encodeHeaders([[':status', '103']]))),
  },
  'a protocol switch over HTTP/2': {
    http2: true,
    respond: (socket) => void socket.write(Buffer.concat([SETTINGS, ...encodeHeaders([[':status', '101']])])),
  },
  'a body longer than declared over HTTP/2': {
    http2: true,
    respond: (socket) =>
      void socket.write(
        Buffer.concat([
          SETTINGS,
          ...encodeHeaders([OK, ['content-length', '2']]),
          frame(0, 1, 1, Buffer.from('much more')),
        ]),
      ),
  },
  'a body shorter than declared over HTTP/2': {
    http2: true,
    respond: (socket) =>
      void socket.write(
        Buffer.concat([
          SETTINGS,
          ...encodeHeaders([OK, ['content-length', '20']]),
          frame(0, 1, 1, Buffer.from('x')),
        ]),
      ),
  },
  'HTTP/1 framing over HTTP/2': {
    http2: true,
    respond: (socket) =>
      void socket.write(Buffer.concat([SETTINGS, ...encodeHeaders([OK, ['transfer-encoding', 'chunked']])])),
  },
  'invalid bytes over HTTP/2': {
    http2: true,
    respond: (socket) => repeatForever(socket, 'HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(16_384)),
  },
}

function encodeText(value: string): Buffer {
  return Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')])
}

/** Literal fields without indexing or Huffman coding. */
function encodeBlock(fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.from([0]), encodeText(name), encodeText(value)]),
  )
}

/** The complete head of stream 1, without END_STREAM. */
function encodeHeaders(fields: readonly (readonly [string, string])[]): Buffer[] {
  return [frame(1, 4, 1, encodeBlock(fields))]
}

import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { MAX_INTERIMS } from './response-head.ts'
import { testCertificates } from './testing/certificates.ts'
import { eventually, startEdge, startTcp } from './testing/edge.ts'
import { rawClient } from './testing/raw-client.ts'
import { localTunnel, TestTunnels } from './testing/tunnels.ts'

const PLAIN = 'plain.adit.localhost'
const SECURE = 'secure.adit.localhost'

interface Upstream {
  /** Wants HTTP/2. */
  readonly http2?: true
  /** Called with each connection once the request has come. */
  answer(socket: Socket): void
}

/** Repeats what is given for as long as somebody takes it. */
function forever(socket: Socket, start: string | Buffer, again: string | Buffer): void {
  const repeat = () => {
    while (!socket.destroyed && socket.write(again)) {}
  }
  socket.on('drain', repeat)
  socket.write(start)
  setImmediate(repeat)
}

const SETTINGS = frame(4, 0, 0, Buffer.alloc(0))
const OK = [':status', '200'] as const
/** Answers that no visitor can be given; each must end in a 502, or visibly broken, and cost little. */
const upstreams: Record<string, Upstream> = {
  'a head without an end': {
    answer: (socket) => forever(socket, 'HTTP/1.1 200 OK\r\nX: ', 'a'.repeat(16_384)),
  },
  'fields without an end': {
    answer: (socket) => forever(socket, 'HTTP/1.1 200 OK\r\n', 'X-A: b\r\n'.repeat(1000)),
  },
  'interim answers without an end': {
    answer: (socket) => forever(socket, '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100)),
  },
  'interim answers in one piece': {
    answer: (socket) => void socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(MAX_INTERIMS + 1)),
  },
  'trailers without an end': {
    answer: (socket) =>
      forever(
        socket,
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n',
        'X-A: b\r\n'.repeat(1000),
      ),
  },
  'a chunk size without an end': {
    answer: (socket) =>
      forever(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '0'.repeat(16_384)),
  },
  'chunk extensions without an end': {
    answer: (socket) =>
      forever(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;', 'a'.repeat(16_384)),
  },
  'an HTTP/2 head of many fields': {
    http2: true,
    answer: (socket) =>
      void socket.write(
        Buffer.concat([
          SETTINGS,
          ...headers([OK, ...Array.from({ length: 300 }, () => ['x-a', 'b'] as const)]),
        ]),
      ),
  },
  'an HTTP/2 head that continues without an end': {
    http2: true,
    answer: (socket) =>
      forever(
        socket,
        Buffer.concat([SETTINGS, frame(1, 0, 1, block([OK]))]),
        frame(9, 0, 1, block(Array.from({ length: 100 }, () => ['x-a', 'b'.repeat(100)] as const))),
      ),
  },
  'interim answers without an end over HTTP/2': {
    http2: true,
    answer: (socket) => forever(socket, SETTINGS, Buffer.concat(headers([[':status', '103']]))),
  },
  'a change of protocol over HTTP/2': {
    http2: true,
    answer: (socket) => void socket.write(Buffer.concat([SETTINGS, ...headers([[':status', '101']])])),
  },
  'a body longer than declared over HTTP/2': {
    http2: true,
    answer: (socket) =>
      void socket.write(
        Buffer.concat([
          SETTINGS,
          ...headers([OK, ['content-length', '2']]),
          frame(0, 1, 1, Buffer.from('much more')),
        ]),
      ),
  },
  'a body shorter than declared over HTTP/2': {
    http2: true,
    answer: (socket) =>
      void socket.write(
        Buffer.concat([
          SETTINGS,
          ...headers([OK, ['content-length', '20']]),
          frame(0, 1, 1, Buffer.from('x')),
        ]),
      ),
  },
  'framing of HTTP/1 over HTTP/2': {
    http2: true,
    answer: (socket) =>
      void socket.write(Buffer.concat([SETTINGS, ...headers([OK, ['transfer-encoding', 'chunked']])])),
  },
  'nonsense over HTTP/2': {
    http2: true,
    answer: (socket) => forever(socket, 'HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(16_384)),
  },
}

async function startHostile(t: TestContext, { http2, answer }: Upstream) {
  const open = new Set<Socket>()
  const upstream = await startTcp(t, (socket) => {
    open.add(socket)
    for (const event of ['end', 'close']) socket.on(event, () => open.delete(socket))
    socket.once('data', () => answer(socket))
    socket.on('data', () => {})
  })
  const forwardsProto = http2 ? 'http2' : ''
  const tunnels = new TestTunnels()
    .add(PLAIN, localTunnel(upstream, { forwardsProto }))
    .add(SECURE, localTunnel(upstream, { forwardsProto, proto: 'https' }))
  const { ca, lookup } = await testCertificates('adit.localhost')
  const { port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup })
  return { port, tlsPort, ca, openConnections: () => open.size }
}

for (const [what, upstream] of Object.entries(upstreams)) {
  test(`an upstream cannot hurt a visitor or the edge with ${what}`, async (t) => {
    const { port, tlsPort, ca, openConnections } = await startHostile(t, upstream)

    // A visitor of HTTP/1 sees a 502, or a connection that breaks inside of an answer that had begun.
    const client = rawClient(t, port).write(`POST / HTTP/1.1\r\nHost: ${PLAIN}\r\nContent-Length: 0\r\n\r\n`)
    await client.until(({ closed, text }) => closed || text.includes('ERR_ADIT_801'), 'an end')
    assert.ok(!client.text.includes('HTTP/1.1 101'))
    assert.ok(client.closed || /(^|\r\n\r\n)HTTP\/1\.1 502 /.test(client.text), client.text.slice(0, 300))
    client.socket.destroy()

    // One of HTTP/2 sees a 502, or a reset of its stream alone.
    const session = connectHttp2(`https://${SECURE}:${tlsPort}`, {
      ca,
      host: '127.0.0.1',
      servername: SECURE,
    })
    t.after(() => session.destroy())
    const stream = session.request({ ':method': 'POST' })
    let status = 0
    stream.on('response', (fields) => {
      status = fields[':status'] ?? 0
    })
    stream.on('error', () => {})
    stream.resume()
    await eventually(() => stream.closed, 'the stream is over')
    assert.ok(status === 502 || stream.rstCode !== 0, `${status} ${stream.rstCode}`)
    assert.ok(!session.destroyed, 'the connection goes on')

    await eventually(() => openConnections() === 0, 'the connections to the upstream are discarded')
  })
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Literal fields without indexing or Huffman coding. */
function block(fields: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')])
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

/** A whole head of the first stream, without an end of the stream. */
function headers(fields: readonly (readonly [string, string])[]): Buffer[] {
  return [frame(1, 4, 1, block(fields))]
}

import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  type ClientSessionRequestOptions,
  connect as connectHttp2,
  constants,
  createServer as createHttp2Server,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually, eventuallyEqual } from '../../../test/support/eventually.ts'
import { listen, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import type { EdgeConfig } from '../edge.ts'
import { shortLimits, startEdge } from '../testing/edge.ts'
import { startHttp2Tap } from '../testing/http2-tap.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'
const PROTOCOLS = ['HTTP/1.1', 'HTTP/2'] as const
const LENGTHS = ['declared', 'unknown'] as const
const DECLARED_BYTES = 10_000_000
/** More than the windows of a client that does not read, so that data is queued when its stream is reset. */
const QUEUED_BYTES = 100_000

type Protocol = (typeof PROTOCOLS)[number]
type Length = (typeof LENGTHS)[number]

/** What an upstream received, and how it responds. */
interface Service {
  received: string
  /** Set once the request is broken off before its end. */
  cut: boolean
  /** Starts a response with a body of this length. */
  begin(length: Length, bytes: number): void
  /** Sends a complete response. */
  respond(length: Length): void
  die(how: 'closes' | 'resets'): void
  stream: ServerHttp2Stream | undefined
}

const unanswered = (): never => assert.fail('no request has arrived')
const createService = (): Service => ({
  received: '',
  cut: false,
  begin: unanswered,
  respond: unanswered,
  die: unanswered,
  stream: undefined,
})

function startHttp1Service(t: TestContext, service: Service): Promise<number> {
  return startTcp(t, (socket) => {
    const head = (length: Length, bytes: number) =>
      length === 'unknown' ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes}`
    const body = (length: Length, bytes: number) =>
      length === 'unknown' ? `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n` : 'x'.repeat(bytes)
    socket.on('data', (chunk: Buffer) => {
      service.received += chunk.toString('latin1').split('\r\n\r\n', 2).at(-1)
    })
    socket.on('end', () => {
      service.cut = true
    })
    service.begin = (length, bytes) =>
      void socket.write(`HTTP/1.1 200 OK\r\n${head(length, DECLARED_BYTES)}\r\n\r\n${body(length, bytes)}`)
    service.respond = (length) => {
      const end = length === 'unknown' ? '0\r\n\r\n' : ''
      socket.write(`HTTP/1.1 200 OK\r\n${head(length, 3)}\r\n\r\n${body(length, 3)}${end}`)
    }
    service.die = (how) => void (how === 'closes' ? socket.end() : socket.resetAndDestroy())
  })
}

function startHttp2Service(t: TestContext, service: Service): Promise<number> {
  const server = createHttp2Server()
  let socket: Socket
  server.on('connection', (opened) => {
    socket = opened
  })
  server.on('stream', (stream: ServerHttp2Stream) => {
    const length = (length: Length, bytes: number) =>
      length === 'declared' ? { 'content-length': bytes } : {}
    stream.on('error', () => {})
    stream.on('data', (chunk: Buffer) => {
      service.received += chunk
    })
    stream.on('aborted', () => {
      service.cut = true
    })
    service.stream = stream
    service.begin = (of, bytes) => {
      // Without it, Node ends a stream before it resets it.
      stream.respond(length(of, DECLARED_BYTES), { waitForTrailers: true })
      stream.write('x'.repeat(bytes))
    }
    service.respond = (of) => {
      stream.respond(length(of, 3))
      stream.end('xxx')
    }
    service.die = (how) => void (how === 'closes' ? socket.destroy() : socket.resetAndDestroy())
  })
  return listen(t, server)
}

/** An edge between a client with HTTP/2 and an upstream, with a tap on each side. */
async function startTapped(t: TestContext, protocol: Protocol, config: Partial<EdgeConfig> = {}) {
  const service = createService()
  const start = protocol === 'HTTP/2' ? startHttp2Service : startHttp1Service
  const upstream = await startHttp2Tap(t, await start(t, service))
  const tunnel = createLocalTunnel(upstream.port, { forwardsProto: protocol === 'HTTP/2' ? 'http2' : '' })
  const { edge, port } = await startEdge(t, new TestTunnels().add(HOST, tunnel), config)
  const client = await startHttp2Tap(t, port)
  const session = connectHttp2(`http://127.0.0.1:${client.port}`)
  t.after(() => session.destroy())
  session.on('error', () => {})
  const request = (headers: OutgoingHttpHeaders = {}, options?: ClientSessionRequestOptions) => {
    const stream = session.request({ ':authority': HOST, ...headers }, options)
    stream.on('error', () => {})
    return stream
  }
  const arrival = () => eventually(() => service.begin !== unanswered, 'the request arrives')
  return { edge, port, service, upstream, client, request, arrival }
}

/** Waits until the only stream has these frames; several DATA frames in a row count as one. */
function eventuallyFrames(read: () => (readonly string[])[], ...expected: string[]): Promise<void> {
  const withoutRepeats = () => {
    const frames = read().flat()
    return frames.filter((frame, index) => frame !== 'DATA' || frames[index + 1] !== 'DATA')
  }
  return eventuallyEqual(withoutRepeats, expected, 'the frames')
}

for (const protocol of PROTOCOLS) {
  for (const length of LENGTHS) {
    for (const how of ['closes', 'resets'] as const) {
      test(`an ${protocol} upstream that ${how} its connection in a body of ${length} length resets the client's stream`, async (t) => {
        const { client, service, request, arrival } = await startTapped(t, protocol)
        const stream = request()
        await arrival()

        service.begin(length, 3)
        await once(stream, 'data')
        service.die(how)

        await eventuallyFrames(client.fromServer, 'HEADERS', 'DATA', 'RST_STREAM INTERNAL_ERROR')
      })
    }

    test(`data that waits for the client's window does not hide that its ${protocol} upstream died in a body of ${length} length`, async (t) => {
      const { client, service, request, arrival } = await startTapped(t, protocol)
      const stream = request()
      await arrival()

      service.begin(length, QUEUED_BYTES)
      await once(stream, 'response')
      await eventually(() => client.fromServer().flat().length > 4, 'the window is used up')
      service.die('closes')

      await eventuallyFrames(client.fromServer, 'HEADERS', 'DATA', 'RST_STREAM INTERNAL_ERROR')
    })

    test(`a response of ${length} length before the end of a request is complete, and an ${protocol} upstream is told to stop too`, async (t) => {
      const { client, upstream, service, request, arrival } = await startTapped(t, protocol)
      const stream = request({ ':method': 'POST' }, { endStream: false })
      stream.write('abc')
      stream.resume()
      await arrival()
      await eventually(() => service.received.includes('abc'), 'the body arrives')

      service.respond(length)

      const end = length === 'unknown' ? ['DATA', 'DATA END_STREAM'] : ['DATA END_STREAM']
      await eventuallyFrames(client.fromServer, 'HEADERS', ...end, 'RST_STREAM NO_ERROR')
      if (protocol === 'HTTP/2')
        await eventuallyFrames(upstream.fromClient, 'HEADERS', 'DATA', 'RST_STREAM CANCEL')
      else await eventually(() => service.cut, 'the connection to the upstream is closed')
    })
  }
}

for (const code of ['NO_ERROR', 'CANCEL', 'INTERNAL_ERROR'] as const) {
  test(`an upstream that resets its stream with ${code} in the middle of a response resets the client's`, async (t) => {
    const { client, service, request, arrival } = await startTapped(t, 'HTTP/2')
    const stream = request()
    await arrival()

    service.begin('unknown', 3)
    await once(stream, 'data')
    service.stream!.close(constants[`NGHTTP2_${code}`])

    await eventuallyFrames(client.fromServer, 'HEADERS', 'DATA', 'RST_STREAM INTERNAL_ERROR')
  })

  for (const protocol of PROTOCOLS) {
    test(`a client that resets its upload with ${code} cuts it off at an ${protocol} upstream`, async (t) => {
      const { upstream, service, request, arrival } = await startTapped(t, protocol)
      const stream = request({ ':method': 'POST' }, { waitForTrailers: true })
      stream.write('abc')
      await arrival()
      await eventually(() => service.received.includes('abc'), 'the body arrives')

      stream.close(constants[`NGHTTP2_${code}`])

      await eventually(() => service.cut, 'the upstream sees the cut')
      if (protocol === 'HTTP/2')
        await eventuallyFrames(upstream.fromClient, 'HEADERS', 'DATA', 'RST_STREAM CANCEL')
      else assert.ok(!service.received.includes('0\r\n\r\n'), service.received)
    })
  }
}

for (const length of LENGTHS) {
  test(`an upload of ${length} length that an HTTP/1.1 client breaks off is reset at an HTTP/2 upstream`, async (t) => {
    const { port, upstream, service } = await startTapped(t, 'HTTP/2')
    const client = openRawClient(t, port)
    const framing = length === 'declared' ? 'Content-Length: 10' : 'Transfer-Encoding: chunked'
    client.write(`POST / HTTP/1.1\r\nHost: ${HOST}\r\n${framing}\r\n\r\n`)
    client.write(length === 'declared' ? 'abc' : '3\r\nabc\r\n')
    await eventually(() => service.received === 'abc', 'the body arrives')

    client.socket.end()

    await eventuallyFrames(upstream.fromClient, 'HEADERS', 'DATA', 'RST_STREAM CANCEL')
  })

  test(`a response of ${length} length whose upstream falls silent resets the stream`, async (t) => {
    const { client, service, request, arrival } = await startTapped(t, 'HTTP/1.1', { limits: shortLimits })
    const stream = request()
    await arrival()

    service.begin(length, 3)
    stream.resume()

    await eventuallyFrames(client.fromServer, 'HEADERS', 'DATA', 'RST_STREAM INTERNAL_ERROR')
  })

  test(`a client that stops reading a response of ${length} length has its stream reset`, async (t) => {
    const { client, upstream, service, request, arrival } = await startTapped(t, 'HTTP/2', {
      limits: shortLimits,
    })
    request()
    await arrival()

    service.begin(length, QUEUED_BYTES)

    await eventuallyFrames(client.fromServer, 'HEADERS', 'DATA', 'RST_STREAM CANCEL')
    await eventuallyFrames(upstream.fromClient, 'HEADERS END_STREAM', 'RST_STREAM CANCEL')
  })

  test(`an edge that stops ends neither an upload nor a response of ${length} length`, async (t) => {
    const { edge, client, upstream, service, request, arrival } = await startTapped(t, 'HTTP/2')
    const stream = request({ ':method': 'POST' }, { endStream: false })
    stream.write('abc')
    await arrival()
    service.begin(length, 3)
    await once(stream, 'data')

    await edge.stop()
    await eventually(() => service.cut, 'the upstream sees the cut')

    for (const [frames = []] of [client.fromServer(), upstream.fromClient()])
      assert.ok(!/END_STREAM|NO_ERROR/.test(frames.join()), frames.join())
  })
}

import assert from 'node:assert/strict'
import {
  connect as connectHttp2,
  createServer as createHttp2Server,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { type TestContext, test } from 'node:test'
import { eventually, eventuallyEqual } from '../../../test/support/eventually.ts'
import { listen, startHttp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { startEdge } from '../testing/edge.ts'
import { sendHttp2 } from '../testing/http2-client.ts'
import { startHttp2Tap } from '../testing/http2-tap.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'
const STATUS = { 'grpc-status': '5', 'grpc-message': 'not here' }
/** A response of gRPC that is its trailers alone. */
const TRAILERS_ONLY = { ':status': 200, 'content-type': 'application/grpc', ...STATUS }

function startHttp2Service(t: TestContext, respond: (stream: ServerHttp2Stream) => void): Promise<number> {
  const server = createHttp2Server()
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {})
    respond(stream)
  })
  return listen(t, server)
}

/** An edge with a tap on each side. */
async function startTapped(t: TestContext, service: number, forwardsProto: 'http1' | 'http2') {
  const upstream = await startHttp2Tap(t, service)
  const tunnel = createLocalTunnel(upstream.port, { forwardsProto, options: { compression: true } })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel))
  const client = await startHttp2Tap(t, port)
  const session = connectHttp2(`http://127.0.0.1:${client.port}`)
  t.after(() => session.destroy())
  const send = (headers: OutgoingHttpHeaders = {}, body?: Buffer) =>
    sendHttp2(session, { ':authority': HOST, ...headers }, body)
  return { port, session, upstream, client, send }
}

test('a response that is trailers alone ends with its head for an HTTP/2 client', async (t) => {
  const service = await startHttp2Service(t, (stream) => stream.respond(TRAILERS_ONLY, { endStream: true }))
  const { client, upstream, send } = await startTapped(t, service, 'http2')

  const { headers } = await send({ ':method': 'POST' }, Buffer.from('abc'))

  assert.equal(headers['grpc-status'], '5')
  assert.equal(headers['grpc-message'], 'not here')
  assert.ok(!('content-length' in headers))
  assert.deepEqual(client.fromServer(), [['HEADERS END_STREAM']])
  assert.deepEqual(upstream.fromServer(), [['HEADERS END_STREAM']])
})

test('a response without a byte of body between head and trailers keeps its trailers', async (t) => {
  const service = await startHttp2Service(t, (stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers(STATUS))
    stream.end()
  })
  const { client, send } = await startTapped(t, service, 'http2')

  const { trailers } = await send()

  assert.equal(trailers?.['grpc-status'], '5')
  assert.deepEqual(client.fromServer().flat().at(-1), 'HEADERS END_STREAM')
})

test('an HTTP/1.1 client gets a response that ends with its head as an empty one, and the connection goes on', async (t) => {
  const service = await startHttp2Service(t, (stream) => stream.respond(TRAILERS_ONLY, { endStream: true }))
  const { port } = await startTapped(t, service, 'http2')
  const client = openRawClient(t, port)

  for (const count of [1, 2]) {
    client.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    await client.until(({ text }) => text.split('\r\n\r\n').length === count + 1, 'a response')
  }

  assert.equal(client.text.match(/Content-Length: 0\r\n/g)?.length, 2, client.text)
  assert.ok(!/chunked|close/i.test(client.text), client.text)
})

test('an empty response of an HTTP/1.1 upstream ends with its head for an HTTP/2 client', async (t) => {
  const service = await startHttp(t, (_request, response) => {
    response.setHeader('Content-Length', 0)
    response.end()
  })
  const { client, send } = await startTapped(t, service, 'http1')

  const { headers } = await send()

  assert.equal(headers['content-length'], '0')
  assert.deepEqual(client.fromServer(), [['HEADERS END_STREAM']])
})

test('a response that ends with its head is not compressed', async (t) => {
  const head = { ':status': 200, 'content-type': 'text/plain' }
  const service = await startHttp2Service(t, (stream) => stream.respond(head, { endStream: true }))
  const { client, send } = await startTapped(t, service, 'http2')

  const { headers } = await send({ 'accept-encoding': 'gzip' })

  assert.ok(!('content-encoding' in headers))
  assert.deepEqual(client.fromServer(), [['HEADERS END_STREAM']])
})

test('a request that ends with its head does so at an HTTP/2 upstream', async (t) => {
  const service = await startHttp2Service(t, (stream) => stream.respond({}, { endStream: true }))
  const { port, upstream, send } = await startTapped(t, service, 'http2')

  await send({ ':method': 'POST' })
  openRawClient(t, port).write(`POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 0\r\n\r\n`)

  await eventuallyEqual(upstream.fromClient, [['HEADERS END_STREAM'], ['HEADERS END_STREAM']])
})

test('a response whose head ends it before the end of a request stops the request on both sides', async (t) => {
  for (const head of [TRAILERS_ONLY, { ':status': 204 }]) {
    const service = await startHttp2Service(t, (stream) => stream.respond(head, { endStream: true }))
    const { session, client, upstream } = await startTapped(t, service, 'http2')
    const stream = session.request({ ':authority': HOST, ':method': 'POST' }, { endStream: false })
    stream.on('error', () => {})
    stream.resume()
    stream.write('abc')

    await eventuallyEqual(client.fromServer, [['HEADERS END_STREAM', 'RST_STREAM NO_ERROR']])
    await eventually(() => upstream.fromClient().flat().includes('RST_STREAM CANCEL'), 'the upload is reset')
  }
})

test('trailers that arrive before the end of a request reach the client before the request is stopped', async (t) => {
  const service = await startHttp2Service(t, (stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers(STATUS))
    stream.end('abc')
  })
  const { session, client } = await startTapped(t, service, 'http2')
  const stream = session.request({ ':authority': HOST, ':method': 'POST' }, { endStream: false })
  stream.on('error', () => {})
  stream.resume()
  stream.write('abc')
  const trailers = new Promise<Record<string, unknown>>((resolve) => stream.once('trailers', resolve))

  assert.equal((await trailers)['grpc-status'], '5')
  await eventuallyEqual(
    () => client.fromServer().flat().slice(-2),
    ['HEADERS END_STREAM', 'RST_STREAM NO_ERROR'],
  )
})

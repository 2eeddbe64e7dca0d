import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { eventually } from '../../../test/support/eventually.ts'
import { startHttp } from '../../../test/support/local-server.ts'
import { openRawClient, RawClient } from '../../../test/support/raw-client.ts'
import type { EdgeConfig } from '../edge.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { shortLimits, startEdge } from '../testing/edge.ts'
import { sendHttp2 } from '../testing/http2-client.ts'
import { frame, headersFrame } from '../testing/http2-frame.ts'
import { createLocalTunnel, type LocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const SETTINGS = frame(4, 0, 0, Buffer.alloc(0))
const GET = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`

/** The type of the frame that a server begins with. */
const isSettings = (received: Buffer) => received.length >= 9 && received[3] === 4

async function startPlain(t: TestContext, tunnel: LocalTunnel, config: Partial<EdgeConfig> = {}) {
  const { edge, port } = await startEdge(t, new TestTunnels().add(HOST, tunnel), config)
  const connect = () => {
    const session = connectHttp2(`http://${HOST}:${port}`, { host: '127.0.0.1' })
    session.on('error', () => {})
    t.after(() => session.destroy())
    return session
  }
  return { edge, port, connect }
}

test('a client without TLS that begins with the preface of HTTP/2 is served as such', async (t) => {
  const upstream = await startHttp(t, (request, response) => {
    const hash = createHash('sha256')
    request.on('data', (chunk) => hash.update(chunk))
    request.on('end', () => {
      response.writeHead(200, { 'x-proto': String(request.headers['x-forwarded-proto']), Trailer: 'X-Sum' })
      response.write(request.url)
      response.addTrailers({ 'X-Sum': hash.digest('hex') })
      response.end()
    })
  })
  const { connect } = await startPlain(t, createLocalTunnel(upstream))
  const session = connect()
  const payload = randomBytes(700_000)

  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, n) => sendHttp2(session, { ':path': `/${n}` })),
  )
  const upload = await sendHttp2(session, { ':method': 'POST', ':path': '/upload' }, payload)

  assert.deepEqual(
    responses.map(({ body }) => body.toString()),
    Array.from({ length: 20 }, (_, n) => `/${n}`),
  )
  assert.equal(upload.headers['x-proto'], 'http')
  assert.equal(upload.trailers?.['x-sum'], createHash('sha256').update(payload).digest('hex'))
})

test('a policy reads the version of a request', async (t) => {
  const trafficPolicy = JSON.stringify({
    on_http_request: [{ actions: [{ type: 'custom-response', config: { content: `\${req.version}` } }] }],
  })
  const { connect, port } = await startPlain(t, createLocalTunnel(1, { options: { trafficPolicy } }))

  assert.equal((await sendHttp2(connect(), { ':path': '/' })).body.toString(), 'HTTP/2.0')
  await openRawClient(t, port).write(GET).untilText('\r\n\r\nHTTP/1.1')
})

test('the preface may arrive byte by byte', async (t) => {
  const { port } = await startPlain(t, createLocalTunnel(1))
  const client = openRawClient(t, port)

  for (const byte of PREFACE) {
    client.write(byte)
    await new Promise(setImmediate)
  }
  client.write(SETTINGS)

  await client.until(({ received }) => isSettings(received), 'the settings of the server')
})

test('a request may arrive together with the preface, and fill the first read', async (t) => {
  const upstream = await startHttp(t, (request, response) => {
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
    })
    request.on('end', () => response.end(`received ${length}`))
  })
  const { port } = await startPlain(t, createLocalTunnel(upstream))
  const fields = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', HOST],
    [':path', '/'],
  ] as const
  const END_HEADERS = 4
  const END_STREAM = 1
  const head = Buffer.concat([Buffer.from(PREFACE), SETTINGS, headersFrame(fields, 1, END_HEADERS)])
  const frames = [16_384, 16_384, 16_384, 65_535 - 3 * 16_384].map((length, index) =>
    frame(0, index === 3 ? END_STREAM : 0, 1, Buffer.alloc(length)),
  )

  const client = openRawClient(t, port).write(Buffer.concat([head, ...frames]))

  await client.untilText('received 65535')
})

test('a connection that begins like the preface and continues otherwise is closed', async (t) => {
  const { port } = await startPlain(t, createLocalTunnel(1))

  const client = openRawClient(t, port).write(`${PREFACE.slice(0, 18)}GET / HTTP/1.1\r\n\r\n`)

  await client.untilClosed()
  assert.doesNotMatch(client.text, /^HTTP\/1/)
})

test('HTTP/2 begins with the connection, and over TLS only as ALPN negotiates it', async (t) => {
  const { lookup, ca } = await createTestCertificates('adit.localhost')
  const upstream = await startHttp(t, (_request, response) => response.end('ok'))
  const tunnels = new TestTunnels()
    .add(HOST, createLocalTunnel(upstream))
    .add(HOST, createLocalTunnel(upstream, { proto: 'https' }))
  const { port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup })
  const secure = connectTls({ host: '127.0.0.1', port: tlsPort, servername: HOST, ca })
  t.after(() => secure.destroy())

  const second = openRawClient(t, port).write(GET + PREFACE)
  const encrypted = new RawClient(secure).write(PREFACE)

  await second.untilText('505')
  await encrypted.untilText('505')
  assert.match(second.text, /^HTTP\/1\.1 200 /)
})

test('a request whose scheme is not that of the connection is rejected', async (t) => {
  const { connect } = await startPlain(t, createLocalTunnel(1))

  const { headers, body } = await sendHttp2(connect(), { ':path': '/', ':scheme': 'https' })

  assert.equal(headers[':status'], 400)
  assert.match(body.toString(), /its scheme is not that of the connection/)
})

test('a client without TLS that leaves aborts its requests at the upstream', async (t) => {
  let aborted = false
  const upstream = await startHttp(t, (request) => {
    request.on('close', () => {
      aborted = true
    })
  })
  const tunnel = createLocalTunnel(upstream)
  const { connect } = await startPlain(t, tunnel)
  const session = connect()

  session.request({ ':path': '/slow' }).on('error', () => {})
  await eventually(() => tunnel.clients.length === 1, 'the upstream is connected')
  session.destroy()

  await eventually(() => aborted, 'the upstream request is aborted')
})

test('a client without TLS that ends its side is disconnected', async (t) => {
  const { port } = await startPlain(t, createLocalTunnel(1))

  const client = openRawClient(t, port).write(PREFACE).write(SETTINGS)
  await client.until(({ received }) => isSettings(received), 'the settings of the server')
  client.socket.end()

  await client.untilClosed()
})

test('a client without TLS that sends no request in time is disconnected', async (t) => {
  const { port } = await startPlain(t, createLocalTunnel(1), { limits: shortLimits })

  const silent = openRawClient(t, port).write(PREFACE).write(SETTINGS)
  const partial = openRawClient(t, port).write(PREFACE.slice(0, 20))

  await Promise.all([silent, partial].map((client) => client.untilClosed()))
})

test('when the edge stops, requests in flight without TLS finish and the client gets GOAWAY', async (t) => {
  let respond = () => {}
  const upstream = await startHttp(t, (_request, response) => {
    respond = () => response.end('finished')
  })
  const tunnel = createLocalTunnel(upstream)
  const { connect, edge } = await startPlain(t, tunnel, { limits: shortLimits })
  const session = connect()
  let goaways = 0
  session.on('goaway', () => goaways++)

  const response = sendHttp2(session, { ':path': '/' })
  await eventually(() => tunnel.clients.length === 1, 'the upstream is connected')
  const stopped = edge.stop()
  await eventually(() => goaways > 0, 'the client got GOAWAY')
  await eventually(() => String(respond).includes('finished'), 'the upstream has the request')
  respond()

  assert.equal((await response).body.toString(), 'finished')
  await stopped
})

test('a connection that becomes HTTP/2 while the edge stops gets its response, then GOAWAY', async (t) => {
  let finishFirst = () => {}
  const upstream = await startHttp(t, (request, response) => {
    if (request.url === '/first') finishFirst = () => response.end()
    else response.end('served')
  })
  const tunnel = createLocalTunnel(upstream)
  const { connect, edge, port } = await startPlain(t, tunnel, { limits: { drain: 30_000 } })
  const socket = connectTcp(port, '127.0.0.1')
  await once(socket, 'connect')
  const session = connect()
  const first = sendHttp2(session, { ':path': '/first' })
  await eventually(() => tunnel.clients.length === 1, 'the upstream is connected')
  const drained = once(session, 'goaway')
  let isStopped = false
  const stopped = edge.stop().then(() => {
    isStopped = true
  })
  await drained

  const late = connectHttp2(`http://${HOST}:${port}`, { createConnection: () => socket })
  t.after(() => late.destroy())
  const ended = once(late, 'goaway')
  assert.equal((await sendHttp2(late, { ':path': '/late' })).body.toString(), 'served')
  await ended
  assert.ok(!isStopped)

  await eventually(() => String(finishFirst).includes('end'), 'the upstream has the first request')
  finishFirst()
  await Promise.all([first, stopped])
})

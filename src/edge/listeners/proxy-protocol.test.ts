import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { eventually } from '../../../test/support/eventually.ts'
import { sendHttps } from '../../../test/support/https-client.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { ProxyProtocolReader } from '../../base/io/sockets/proxy-protocol-reader.ts'
import { silentLog } from '../../base/process/log.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'
const VISITOR = '192.0.2.7'
const SERVER = '203.0.113.1'
const header = (ip = VISITOR) => `PROXY TCP4 ${ip} ${SERVER} 4711 443\r\n`

/** An edge whose listeners trust 127.0.0.1 to send a header. */
async function startBehindProxy(t: TestContext, tunnels: TestTunnels, maxConnections = 64) {
  const isTrusted = (ip: string) => ip === '127.0.0.1'
  const reader = () =>
    new ProxyProtocolReader({ listener: 'test', isTrusted, maxPending: 64, log: silentLog })
  const certificates = await createTestCertificates('adit.localhost')
  const started = await startEdge(
    t,
    tunnels,
    {
      maxConnections,
      isShared: isTrusted,
      trustedProxies: { isTrusted, field: 'x-forwarded-for' },
      proxyProtocol: { http: reader(), https: reader(), tcp: reader() },
    },
    { certificates: certificates.lookup },
  )
  return { ...started, ca: certificates.ca }
}

/** A connection that begins with a header. */
async function dial(t: TestContext, port: number, line = header()): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await new Promise((resolve) => socket.write(line, resolve))
  return socket
}

const echo = (t: TestContext) =>
  startHttp(t, (request, response) =>
    response.end(`${request.headers['x-forwarded-for']} ${request.headers['x-forwarded-proto']}`),
  )

test('the visitor of the header is the client of plain HTTP, whatever the request claims', async (t) => {
  const tunnel = createLocalTunnel(await echo(t))
  const { port } = await startBehindProxy(t, new TestTunnels().add(HOST, tunnel))

  const client = openRawClient(t, port).write(
    `${header()}GET / HTTP/1.1\r\nHost: ${HOST}\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n`,
  )
  await client.untilText(`${VISITOR} http`)

  assert.equal(tunnel.clients[0]?.clientAddress, `${VISITOR}:4711`)
  assert.equal(tunnel.clients[0]?.serverAddress, `${SERVER}:443`)
})

test('a connection of the proxy itself is not believed to forward anything', async (t) => {
  const { port } = await startBehindProxy(t, new TestTunnels().add(HOST, createLocalTunnel(await echo(t))))

  await openRawClient(t, port)
    .write(`PROXY UNKNOWN\r\nGET / HTTP/1.1\r\nHost: ${HOST}\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n`)
    .untilText('127.0.0.1 http')
})

test('a visitor inside a trusted range is a proxy whose forwarding fields count', async (t) => {
  const { port } = await startBehindProxy(t, new TestTunnels().add(HOST, createLocalTunnel(await echo(t))))

  await openRawClient(t, port)
    .write(`${header('127.0.0.1')}GET / HTTP/1.1\r\nHost: ${HOST}\r\nX-Forwarded-For: 198.51.100.9\r\n\r\n`)
    .untilText('198.51.100.9 http')
})

test('the visitor of the header is the client of HTTPS, over HTTP/1 and HTTP/2', async (t) => {
  const tunnels = new TestTunnels().add(HOST, createLocalTunnel(await echo(t), { proto: 'https' }))
  const { tlsPort, ca } = await startBehindProxy(t, tunnels)

  const first = await dial(t, tlsPort)
  const http1 = await sendHttps(tlsPort, ca, { host: HOST, tls: { socket: first } as object })
  const second = await dial(t, tlsPort)
  const session = connectHttp2(`https://${HOST}`, {
    createConnection: () => connectTls({ socket: second, servername: HOST, ca, ALPNProtocols: ['h2'] }),
  })
  t.after(() => session.destroy())
  let http2 = ''
  for await (const chunk of session.request({ ':path': '/' }).setEncoding('utf8')) http2 += chunk

  assert.equal(http1.text, `${VISITOR} https`)
  assert.equal(http2, `${VISITOR} https`)
})

test('the visitor of the header is the client of TLS without termination and of a TCP port', async (t) => {
  const upstream = await startTcp(t, (socket) => socket.once('data', (chunk) => socket.end(chunk)))
  const [passthrough, tcp] = [
    createLocalTunnel(upstream, { proto: 'tls' }),
    createLocalTunnel(upstream, { proto: 'tcp' }),
  ]
  const { edge, tunnels, tlsPort } = await startBehindProxy(t, new TestTunnels().add(HOST, passthrough))
  const tcpPort = await edge.ports.acquire()
  tunnels.ports.set(tcpPort, tcp)

  const tls = connectTls({ socket: await dial(t, tlsPort), servername: HOST })
  tls.on('error', () => {})
  await eventually(() => passthrough.clients[0], 'the TLS stream')
  await openRawClient(t, tcpPort).write(`${header()}hello`).untilText('hello')

  assert.equal(passthrough.clients[0]?.clientAddress, `${VISITOR}:4711`)
  assert.equal(tcp.clients[0]?.clientAddress, `${VISITOR}:4711`)
})

test('IP restrictions judge the visitor of the header', async (t) => {
  const upstream = await startTcp(t, (socket) => socket.end('welcome'))
  const { edge, tunnels } = await startBehindProxy(t, new TestTunnels())
  const port = await edge.ports.acquire()
  const options = { ipRestriction: { allow: [`${VISITOR}/32`], deny: [] } }
  tunnels.ports.set(port, createLocalTunnel(upstream, { proto: 'tcp', options }))

  await openRawClient(t, port).write(header()).untilText('welcome')
  const denied = await openRawClient(t, port).write(header('192.0.2.8')).untilClosed()

  assert.equal(denied.text, '')
})

test('connections are shared among the visitors, not counted for the proxy', async (t) => {
  const tunnels = new TestTunnels().add(HOST, createLocalTunnel(await echo(t)))
  const { port } = await startBehindProxy(t, tunnels, 16)
  const request = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
  // One visitor may hold half of the slots, and two a third each.
  for (let n = 0; n < 8; n++)
    await openRawClient(t, port)
      .write(header() + request)
      .untilText(`${VISITOR} http`)

  const ninth = await openRawClient(t, port)
    .write(header() + request)
    .untilClosed()
  await openRawClient(t, port)
    .write(header('192.0.2.8') + request)
    .untilText('192.0.2.8 http')

  assert.equal(ninth.text, '')
})

test('an edge stops at once while connections wait for their header', async (t) => {
  const { edge, port } = await startBehindProxy(t, new TestTunnels())
  const waiting = openRawClient(t, port).write('PROXY ')
  await openRawClient(t, port).write('nonsense').untilClosed()

  await edge.stop()

  await waiting.untilClosed()
})

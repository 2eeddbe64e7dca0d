import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { eventually } from '../../../test/support/eventually.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import type { ClientConnection } from '../contracts/connection.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { TestObserver } from '../testing/observer.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HTTP = 'http.adit.localhost'
const HTTPS = 'https.adit.localhost'
const TLS = 'tls.adit.localhost'
const PASSTHROUGH = 'passthrough.adit.localhost'
const REQUEST = `GET / HTTP/1.1\r\nHost: ${HTTP}\r\n\r\n`

/** Reads every property of a connection that an event can report. */
function describeConnection({
  scheme,
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
  tls,
}: ClientConnection) {
  return {
    scheme,
    remoteAddress,
    isRemotePortKnown: remotePort > 0,
    localAddress,
    localPort,
    version: tls?.version,
    cipher: tls?.cipher,
    alpn: tls?.alpn,
    peer: tls?.peer,
  }
}

/** An edge whose upstreams start a response and never finish it, and an observer of its events. */
async function startSlowEdge(t: TestContext) {
  const observer = new TestObserver('ac_test')
  const slow = await startHttp(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('x')
  })
  const raw = await startTcp(t, (socket) => socket.write('x'))
  const passthrough = createLocalTunnel(raw, { proto: 'tls' })
  const tunnels = new TestTunnels()
    .add(HTTP, createLocalTunnel(slow))
    .add(HTTPS, createLocalTunnel(slow, { proto: 'https' }))
    .add(TLS, createLocalTunnel(raw, { proto: 'tls', options: { tlsTermination: {} } }))
    .add(PASSTHROUGH, passthrough)
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const { edge, port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup, observe: observer })
  const tcpPort = await edge.ports.acquire()
  tunnels.ports.set(tcpPort, createLocalTunnel(raw, { proto: 'tcp' }))
  const dial = async (to: number): Promise<Socket> => {
    const socket = connect({ port: to, host: '127.0.0.1' })
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  const secure = (transport: Socket, servername: string, ALPNProtocols: string[]) => {
    const socket = connectTls({ socket: transport, servername, ca, ALPNProtocols })
    socket.on('error', () => {})
    return socket
  }
  return { observer, port, tlsPort, tcpPort, passthrough, dial, secure }
}

type SlowEdge = Awaited<ReturnType<typeof startSlowEdge>>

const handshake = { version: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256', alpn: undefined }
const plain = { version: undefined, cipher: undefined, alpn: undefined }

/** Each connects and waits for the start of the response; the test then resets the transport. */
const clients: Record<
  string,
  { connect(slowEdge: SlowEdge): Promise<Socket>; expected: object; port: keyof SlowEdge }
> = {
  'HTTP/1': {
    async connect({ dial, port }) {
      const transport = await dial(port)
      transport.write(REQUEST)
      await once(transport, 'data')
      return transport
    },
    port: 'port',
    expected: { scheme: 'http', ...plain },
  },
  'HTTP/1 over TLS': {
    async connect({ dial, secure, tlsPort }) {
      const transport = await dial(tlsPort)
      const socket = secure(transport, HTTPS, ['http/1.1'])
      socket.write(REQUEST.replace(HTTP, HTTPS))
      await once(socket, 'data')
      return transport
    },
    port: 'tlsPort',
    expected: { scheme: 'https', ...handshake, alpn: 'http/1.1' },
  },
  'HTTP/2': {
    async connect({ dial, secure, tlsPort }) {
      const transport = await dial(tlsPort)
      const session = connectHttp2(`https://${HTTPS}`, {
        createConnection: () => secure(transport, HTTPS, ['h2']),
      })
      session.on('error', () => {})
      const stream = session.request({ ':path': '/' })
      stream.on('error', () => {})
      await once(stream, 'data')
      return transport
    },
    port: 'tlsPort',
    expected: { scheme: 'https', ...handshake, alpn: 'h2' },
  },
  TCP: {
    async connect({ dial, tcpPort }) {
      const transport = await dial(tcpPort)
      await once(transport, 'data')
      return transport
    },
    port: 'tcpPort',
    expected: { scheme: 'tcp', ...plain },
  },
  'TLS that ends at the edge': {
    async connect({ dial, secure, tlsPort }) {
      const transport = await dial(tlsPort)
      await once(secure(transport, TLS, []), 'data')
      return transport
    },
    port: 'tlsPort',
    expected: { scheme: 'tls', ...handshake },
  },
  'TLS that passes through': {
    async connect({ dial, secure, tlsPort, passthrough: { clients } }) {
      const transport = await dial(tlsPort)
      const localEnd = `127.0.0.1:${transport.localPort}`
      // The upstream does not speak TLS, so its response cannot be read here.
      secure(transport, PASSTHROUGH, [])
      await eventually(
        () => clients.some(({ clientAddress }) => clientAddress === localEnd),
        'the connection is admitted',
      )
      return transport
    },
    port: 'tlsPort',
    expected: { scheme: 'tls', ...plain },
  },
}

for (const [kind, { connect: connectClient, expected, port }] of Object.entries(clients)) {
  test(`the event of a client that reset its connection is complete: ${kind}`, async (t) => {
    const slowEdge = await startSlowEdge(t)
    const { observer } = slowEdge

    const sockets = await Promise.all(Array.from({ length: 5 }, () => connectClient(slowEdge)))
    for (const socket of sockets) socket.resetAndDestroy()
    const events = () => [...observer.requests, ...observer.connections]
    await eventually(() => events().length === sockets.length, 'all are reported')

    const description = {
      remoteAddress: '127.0.0.1',
      isRemotePortKnown: true,
      localAddress: '127.0.0.1',
      localPort: slowEdge[port],
      peer: undefined,
      ...expected,
    }
    for (const { connection } of events()) assert.deepEqual(describeConnection(connection), description)
  })
}

test('a client that resets before it is accepted is not reported, and later clients are served', async (t) => {
  const slowEdge = await startSlowEdge(t)
  const { observer, port, tlsPort, tcpPort } = slowEdge
  const closedCount = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(
    `const { workerData: { ports, closedCount } } = require('node:worker_threads')
     const { connect } = require('node:net')
     for (const port of ports) {
       const socket = connect({ port, host: '127.0.0.1' })
       socket.once('connect', () => socket.resetAndDestroy())
       socket.once('close', () => { Atomics.add(closedCount, 0, 1); Atomics.notify(closedCount, 0) })
     }`,
    { eval: true, workerData: { ports: [port, tlsPort, tcpPort], closedCount } },
  )
  t.after(() => worker.terminate())

  // The edge runs in this thread: it accepts no connection during this wait.
  for (let count = 0; count < 3; count = Atomics.load(closedCount, 0))
    assert.notEqual(Atomics.wait(closedCount, 0, count, 10_000), 'timed-out')
  const client = await clients.TCP!.connect(slowEdge)
  client.resetAndDestroy()
  await eventually(() => observer.connections.length > 0, 'the later client is reported')

  assert.deepEqual(
    observer.connections.map(({ connection }) => connection.remoteAddress),
    ['127.0.0.1'],
  )
  assert.deepEqual(observer.requests, [])
})

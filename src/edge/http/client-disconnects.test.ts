import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { Worker } from 'node:worker_threads'
import type { Connection } from '../connection.ts'
import { testCertificates } from '../testing/certificates.ts'
import { eventually, startEdge, startTcp, startUpstream } from '../testing/edge.ts'
import { TestObserver } from '../testing/observer.ts'
import { localTunnel, TestTunnels } from '../testing/tunnels.ts'

const HTTP = 'http.adit.localhost'
const HTTPS = 'https.adit.localhost'
const TLS = 'tls.adit.localhost'
const PASSTHROUGH = 'passthrough.adit.localhost'
const REQUEST = `GET / HTTP/1.1\r\nHost: ${HTTP}\r\n\r\n`

/** Everything an event can tell of a connection; each is read, whatever the event is for. */
function factsOf({ scheme, remoteAddress, remotePort, localAddress, localPort, tls }: Connection) {
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

/** An edge whose upstreams begin to answer and say no more, and the events of what visitors do. */
async function startSlowEdge(t: TestContext) {
  const observer = new TestObserver('ac_test')
  const slow = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('x')
  })
  const raw = await startTcp(t, (socket) => socket.write('x'))
  const passthrough = localTunnel(raw, { proto: 'tls' })
  const tunnels = new TestTunnels()
    .add(HTTP, localTunnel(slow))
    .add(HTTPS, localTunnel(slow, { proto: 'https' }))
    .add(TLS, localTunnel(raw, { proto: 'tls', options: { tlsTermination: {} } }))
    .add(PASSTHROUGH, passthrough)
  const { ca, lookup } = await testCertificates('adit.localhost')
  const { edge, port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup, observe: observer })
  const tcpPort = await edge.ports.acquire()
  tunnels.ports.set(tcpPort, localTunnel(raw, { proto: 'tcp' }))
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

type World = Awaited<ReturnType<typeof startSlowEdge>>

const handshake = { version: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256', alpn: undefined }
const plain = { version: undefined, cipher: undefined, alpn: undefined }

/** Each goes as far as the beginning of the answer; the transport is then reset. */
const visits: Record<string, { go(world: World): Promise<Socket>; facts: object; port: keyof World }> = {
  'HTTP/1': {
    async go({ dial, port }) {
      const transport = await dial(port)
      transport.write(REQUEST)
      await once(transport, 'data')
      return transport
    },
    port: 'port',
    facts: { scheme: 'http', ...plain },
  },
  'HTTP/1 over TLS': {
    async go({ dial, secure, tlsPort }) {
      const transport = await dial(tlsPort)
      const socket = secure(transport, HTTPS, ['http/1.1'])
      socket.write(REQUEST.replace(HTTP, HTTPS))
      await once(socket, 'data')
      return transport
    },
    port: 'tlsPort',
    facts: { scheme: 'https', ...handshake, alpn: 'http/1.1' },
  },
  'HTTP/2': {
    async go({ dial, secure, tlsPort }) {
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
    facts: { scheme: 'https', ...handshake, alpn: 'h2' },
  },
  TCP: {
    async go({ dial, tcpPort }) {
      const transport = await dial(tcpPort)
      await once(transport, 'data')
      return transport
    },
    port: 'tcpPort',
    facts: { scheme: 'tcp', ...plain },
  },
  'TLS that ends at the edge': {
    async go({ dial, secure, tlsPort }) {
      const transport = await dial(tlsPort)
      await once(secure(transport, TLS, []), 'data')
      return transport
    },
    port: 'tlsPort',
    facts: { scheme: 'tls', ...handshake },
  },
  'TLS that passes through': {
    async go({ dial, secure, tlsPort, passthrough: { visitors } }) {
      const transport = await dial(tlsPort)
      const from = `127.0.0.1:${transport.localPort}`
      // The upstream speaks no TLS, so nothing of its answer can be seen here.
      secure(transport, PASSTHROUGH, [])
      await eventually(() => visitors.some(({ clientAddress }) => clientAddress === from), 'it is let in')
      return transport
    },
    port: 'tlsPort',
    facts: { scheme: 'tls', ...plain },
  },
}

for (const [kind, { go, facts, port }] of Object.entries(visits)) {
  test(`the event of a visitor that reset its connection has every fact of it: ${kind}`, async (t) => {
    const world = await startSlowEdge(t)
    const { observer } = world

    const visitors = await Promise.all(Array.from({ length: 5 }, () => go(world)))
    for (const visitor of visitors) visitor.resetAndDestroy()
    const events = () => [...observer.requests, ...observer.connections]
    await eventually(() => events().length === visitors.length, 'all are told')

    const expected = {
      remoteAddress: '127.0.0.1',
      isRemotePortKnown: true,
      localAddress: '127.0.0.1',
      localPort: world[port],
      peer: undefined,
      ...facts,
    }
    for (const { connection } of events()) assert.deepEqual(factsOf(connection), expected)
  })
}

test('a visitor that left before it was accepted is nobody, and those after it are served', async (t) => {
  const world = await startSlowEdge(t)
  const { observer, port, tlsPort, tcpPort } = world
  const left = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(
    `const { workerData: { ports, left } } = require('node:worker_threads')
     const { connect } = require('node:net')
     for (const port of ports) {
       const socket = connect({ port, host: '127.0.0.1' })
       socket.once('connect', () => socket.resetAndDestroy())
       socket.once('close', () => { Atomics.add(left, 0, 1); Atomics.notify(left, 0) })
     }`,
    { eval: true, workerData: { ports: [port, tlsPort, tcpPort], left } },
  )
  t.after(() => worker.terminate())

  // The edge is in this thread: it accepts nobody while this waits.
  for (let count = 0; count < 3; count = Atomics.load(left, 0))
    assert.notEqual(Atomics.wait(left, 0, count, 10_000), 'timed-out')
  const visitor = await visits.TCP!.go(world)
  visitor.resetAndDestroy()
  await eventually(() => observer.connections.length > 0, 'the one that came is told')

  assert.deepEqual(
    observer.connections.map(({ connection }) => connection.remoteAddress),
    ['127.0.0.1'],
  )
  assert.deepEqual(observer.requests, [])
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sendHttp } from '../../../test/support/https-client.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { type ByteStream, silentSink } from '../../base/io/streams/stream.ts'
import { ConnectionLost } from '../../sessions/index.ts'
import { TunnelBusy } from '../contracts/tunnels.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, type LocalTunnelOptions, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

/** A tunnel of the pool whose agent cannot take connections. */
function createBusyTunnel(options: LocalTunnelOptions) {
  const tunnel = createLocalTunnel(1, options)
  return {
    ...tunnel,
    open: () => {
      throw new TunnelBusy()
    },
  }
}

/** An agent that tells that its service cannot be reached. */
const startUnreachable = (t: TestContext) =>
  startTcp(t, (socket) => {
    const body = 'failed to dial backend: refused'
    socket.once('data', () =>
      socket.end(`HTTP/1.1 502 Bad Gateway\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    )
  })

const pooled = { hostport: `${HOST}:80`, poolingEnabled: true }

const REPLACED = { hostport: `${HOST}:80` }

test('a request goes to another member of the pool when the service of one cannot be reached', async (t) => {
  const upstream = await startHttp(t, (_request, response) => response.end('reached'))
  const first = createLocalTunnel(await startUnreachable(t), pooled)
  const tunnels = new TestTunnels().add(HOST, first)
  tunnels.tunnels.push(createBusyTunnel(pooled), createLocalTunnel(upstream, pooled))
  const { port } = await startEdge(t, tunnels)

  const { status, text } = await sendHttp(port, { host: HOST, method: 'POST' })

  assert.deepEqual([status, text, first.clients.length], [200, 'reached', 1])
})

test('a member of the pool with another policy never gets a request that passed the first one', async (t) => {
  const upstream = await startHttp(t, (_request, response) => response.end('reached'))
  const denying = { trafficPolicy: 'on_http_request: [{actions: [{type: deny}]}]' }
  const tunnels = new TestTunnels().add(HOST, createBusyTunnel(pooled))
  const other = createLocalTunnel(upstream, { ...pooled, options: denying })
  tunnels.tunnels.push(other)
  const { port } = await startEdge(t, tunnels)

  const { status } = await sendHttp(port, { host: HOST })

  assert.deepEqual([status, other.clients.length], [503, 0])
})

test('a WebSocket that is converted to TCP goes to another member of the pool', async (t) => {
  const upstream = await startTcp(t, (socket) => socket.write('reached'))
  const converting = { ...pooled, options: { websocketTcpConverter: true } }
  const tunnels = new TestTunnels().add(HOST, createBusyTunnel(converting))
  tunnels.tunnels.push(createBusyTunnel(converting), createLocalTunnel(upstream, converting))
  const { port } = await startEdge(t, tunnels)

  const client = openRawClient(t, port).write(
    `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  )

  await client.untilText('reached')
})

test('a TCP connection goes to another member of the pool', async (t) => {
  const upstream = await startTcp(t, (socket) => socket.end('hello'))
  const tunnels = new TestTunnels()
  const { edge } = await startEdge(t, tunnels)
  const port = await edge.ports.acquire()
  const options: LocalTunnelOptions = { proto: 'tcp', hostport: `${HOST}:${port}` }
  tunnels.ports.set(port, createBusyTunnel(options))
  tunnels.tunnels.push(createLocalTunnel(upstream, options))

  const { text } = await openRawClient(t, port).untilClosed()

  assert.equal(text, 'hello')
})

/** Loses its first connection, cannot open others, and is replaced after as many attempts. */
function createLostTunnel(replaceAfter: number, replace: () => void) {
  const state = { losses: 0, attempts: 0 }
  const tunnel = {
    ...createLocalTunnel(1, REPLACED),
    open() {
      if (state.losses > 0) {
        if (++state.attempts === replaceAfter) replace()
        throw new Error('The session has ended.')
      }
      const stream: ByteStream = {
        sink: silentSink,
        write: () => true,
        end() {},
        reset() {},
        consumed() {},
      }
      setImmediate(() => {
        state.losses++
        stream.sink.onClose(new ConnectionLost(undefined))
        if (replaceAfter === 0) replace()
      })
      return stream
    },
  }
  return { tunnel, state }
}

for (const [when, replaceAfter] of [
  ['a moment later', 0],
  ['after the last leg is gone too', 3],
] as const)
  test(`a request whose connection to the agent is lost goes to the next session of that agent, which binds ${when}`, async (t) => {
    const upstream = await startHttp(t, (_request, response) => response.end('reached'))
    const tunnels = new TestTunnels()
    const { tunnel, state } = createLostTunnel(replaceAfter, () =>
      tunnels.tunnels.push(createLocalTunnel(upstream, REPLACED)),
    )
    tunnels.add(HOST, tunnel)
    const { port } = await startEdge(t, tunnels)

    const { status, text } = await sendHttp(port, { host: HOST })

    assert.deepEqual([status, text, state.losses, state.attempts], [200, 'reached', 1, replaceAfter])
  })

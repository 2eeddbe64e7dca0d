import assert from 'node:assert/strict'
import { createServer as createHttp1Server } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { Server } from 'node:net'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { listen } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

const respond = (_request: unknown, response: { end(body: string): unknown }) => response.end('x')
const UPSTREAMS = {
  http1: () => createHttp1Server(respond),
  http2: () => createHttp2Server(respond),
}

for (const forwardsProto of ['http1', 'http2'] as const)
  test(`requests leave their ${forwardsProto} connection to the upstream once another takes a better path`, async (t) => {
    const upstream: Server = UPSTREAMS[forwardsProto]()
    let open = 0
    upstream.on('connection', (socket) => {
      open++
      socket.on('close', () => open--)
    })
    const tunnel = createLocalTunnel(await listen(t, upstream), { forwardsProto })
    const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel))
    const client = openRawClient(t, port)
    let responses = 0
    const send = async () => {
      client.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
      responses++
      await client.until(({ text }) => text.split('HTTP/1.1 200').length > responses)
    }

    await send()
    await send()
    assert.equal(tunnel.clients.length, 1)
    Object.assign(tunnel, { pathRevision: 1 })
    await send()
    await send()

    assert.equal(tunnel.clients.length, 2)
    await eventually(() => open === 1, 'the connection on the earlier path is closed')
  })

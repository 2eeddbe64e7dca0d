import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { type HostileResponse, hostileResponses } from '../testing/hostile-responses.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const PLAIN = 'plain.adit.localhost'
const SECURE = 'secure.adit.localhost'

async function startHostile(t: TestContext, { http2, respond }: HostileResponse) {
  const open = new Set<Socket>()
  const upstream = await startTcp(t, (socket) => {
    open.add(socket)
    for (const event of ['end', 'close']) socket.on(event, () => open.delete(socket))
    socket.once('data', () => respond(socket))
    socket.on('data', () => {})
  })
  const forwardsProto = http2 ? 'http2' : ''
  const tunnels = new TestTunnels()
    .add(PLAIN, createLocalTunnel(upstream, { forwardsProto }))
    .add(SECURE, createLocalTunnel(upstream, { forwardsProto, proto: 'https' }))
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const { port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup })
  return { port, tlsPort, ca, openConnections: () => open.size }
}

for (const [what, upstream] of Object.entries(hostileResponses)) {
  test(`an upstream cannot harm a client or the edge with ${what}`, async (t) => {
    const { port, tlsPort, ca, openConnections } = await startHostile(t, upstream)

    // An HTTP/1 client sees a 502, or a reset inside a response that had started.
    const client = openRawClient(t, port).write(
      `POST / HTTP/1.1\r\nHost: ${PLAIN}\r\nContent-Length: 0\r\n\r\n`,
    )
    await client.until(({ closed, text }) => closed || text.includes('ERR_ADIT_801'), 'an end')
    assert.ok(!client.text.includes('HTTP/1.1 101'))
    assert.ok(client.closed || /(^|\r\n\r\n)HTTP\/1\.1 502 /.test(client.text), client.text.slice(0, 300))
    client.socket.destroy()

    // An HTTP/2 client sees a 502, or a reset of its stream alone.
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
    await eventually(() => stream.closed, 'the stream is closed')
    assert.ok(status === 502 || stream.rstCode !== 0, `${status} ${stream.rstCode}`)
    assert.ok(!session.destroyed, 'the connection stays open')

    await eventually(() => openConnections() === 0, 'the connections to the upstream are closed')
  })
}

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { eventually } from '../../../test/support/eventually.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { recordClientHello } from '../testing/client-hello.ts'
import { HOST, startHttpsEdge } from '../testing/https-edge.ts'

test('one client address cannot fill a listener with pending handshakes, and finished ones do not count', async (t) => {
  // An eighth of the connections: two handshakes at a time.
  const { tlsPort, ca, sendRequest } = await startHttpsEdge(t, undefined, { config: { maxConnections: 16 } })
  const secured: TLSSocket[] = []
  for (let n = 0; n < 4; n++) {
    const socket = connect({ port: tlsPort, host: '127.0.0.1', servername: HOST, ca })
    t.after(() => socket.destroy())
    await once(socket, 'secureConnect')
    secured.push(socket)
  }

  const slow = [openRawClient(t, tlsPort).write('\x16\x03'), openRawClient(t, tlsPort).write('\x16\x03')]
  await openRawClient(t, tlsPort).write('\x16\x03').untilClosed()
  const other = await sendRequest({ tls: { localAddress: '127.0.0.2' } })

  assert.equal(other.status, 200, 'another address is served')
  assert.ok(secured.every(({ closed }) => !closed))
  assert.ok(slow.every(({ closed, ended }) => !closed && !ended))
  // The slot is free as soon as the edge has seen the close.
  slow[0]!.socket.destroy()
  let status = 0
  while (status !== 200) ({ status } = await sendRequest())
})

test('a client that leaves during its handshake is not waited for', async (t) => {
  const { tlsPort } = await startHttpsEdge(t, undefined, { config: { limits: { handshake: 60_000 } } })
  const hello = await recordClientHello(t, { servername: HOST })
  const startHandshake = () =>
    openRawClient(t, tlsPort)
      .write(hello)
      .until(({ received }) => received.length > 0, 'the ServerHello')
  const slow = await startHandshake()
  const client = await startHandshake()

  client.socket.end()

  await client.untilClosed()
  assert.ok(!slow.closed && !slow.ended, 'a client that stays has the whole time')
})

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`a connection cannot renegotiate: ${maxVersion}`, async (t) => {
    const { tlsPort, ca } = await startHttpsEdge(t)
    const options: ConnectionOptions = { port: tlsPort, host: '127.0.0.1', servername: HOST, ca, maxVersion }
    const socket = connect(options)
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'secureConnect')

    let renegotiated = false
    socket.renegotiate({}, (error) => {
      renegotiated = error === null
    })
    let received = ''
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1')
    })
    socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    await eventually(
      () => received.includes('HTTP/1.1 200') || socket.destroyed || renegotiated,
      'a response',
    )

    assert.ok(!renegotiated, 'there was a second handshake')
  })
}

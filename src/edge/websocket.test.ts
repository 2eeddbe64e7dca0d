import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { eventually, TIMEOUT_MS } from '../../test/support/eventually.ts'
import { startTcp } from '../../test/support/local-server.ts'
import { openRawClient } from '../../test/support/raw-client.ts'
import { shortLimits, startEdge } from './testing/edge.ts'
import { createLocalTunnel, TestTunnels } from './testing/tunnels.ts'

const HOST = 'app.adit.localhost'
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
const UPGRADE_REQUEST =
  `GET /ws HTTP/1.1\r\nHost: ${HOST}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n` +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`
const ACCEPT_RESPONSE = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${ACCEPT}\r\n\r\n`
const SMUGGLED = `GET /smuggled HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`

/** An edge with a raw upstream, and everything the upstream has received. */
async function startUpstreamSide(t: Parameters<typeof startTcp>[0], onHead: (socket: Socket) => void) {
  const received = { text: '', ended: false }
  const upstream = await startTcp(t, (socket) => {
    socket.once('data', () => onHead(socket))
    socket.on('data', (chunk: Buffer) => {
      received.text += chunk.toString('latin1')
    })
    socket.on('end', () => {
      received.ended = true
      socket.end()
    })
  })
  const { edge, port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))
  return { edge, port, received }
}

test('after 101 bytes pass both ways, early ones included, until both sides end', async (t) => {
  const { port, received } = await startUpstreamSide(t, (socket) =>
    socket.write(`${ACCEPT_RESPONSE}first words`),
  )

  const client = openRawClient(t, port).write(`${UPGRADE_REQUEST}early`)
  await client.untilText('first words')
  client.write(' and later')
  await eventually(() => received.text.endsWith('early and later'), 'the upstream has it all')
  client.socket.end()
  await client.untilClosed()

  assert.match(received.text, /\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n/)
  assert.match(client.text, /^HTTP\/1\.1 101 [\s\S]*Connection: Upgrade\r\nUpgrade: websocket\r\n/)
  assert.equal(received.ended, true)
})

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

test('an edge that stops closes a WebSocket with 1001 after the frame under way, and the upstream hears of it', async (t) => {
  const sent = Promise.withResolvers<Socket>()
  const { edge, port, received } = await startUpstreamSide(t, (socket) => {
    socket.write(`${ACCEPT_RESPONSE}\x81\x02hi\x81\x0abegun `, 'latin1')
    sent.resolve(socket)
  })
  const client = openRawClient(t, port).write(UPGRADE_REQUEST)
  await client.untilText('begun ')

  const stopped = edge.stop(TIMEOUT_MS)
  // It drains its connections once its listener is closed.
  await eventually(async () => !(await isListening(port)), 'the listener is closed')
  assert.ok(client.text.endsWith('begun '))
  const upstream = await sent.promise
  upstream.write('done\x81\x04more', 'latin1')
  const closeFrame = Buffer.from([0x88, 2, 1001 >> 8, 1001 & 0xff]).toString('latin1')
  await client.untilText(closeFrame)
  client.write('a masked close frame')
  await eventually(() => received.text.endsWith('a masked close frame'), 'the upstream has it')
  upstream.end()
  client.socket.end()
  await client.untilClosed()
  await stopped

  assert.equal(client.text.slice(client.text.indexOf('\x81')), `\x81\x02hi\x81\x0abegun done${closeFrame}`)
})

test('an idle WebSocket is closed with 1001 at once', async (t) => {
  const { edge, port } = await startUpstreamSide(t, (socket) =>
    socket.write(`${ACCEPT_RESPONSE}\x81\x02hi`, 'latin1'),
  )
  const client = openRawClient(t, port).write(UPGRADE_REQUEST)
  await client.untilText('hi')

  const stopped = edge.stop(TIMEOUT_MS)
  await client.untilText('\x88\x02\x03\xe9')
  client.socket.end()

  await stopped
})

/** Longer than a test may take. */
const NEVER = 10 * TIMEOUT_MS

for (const [name, hasLeft, limits] of [
  ['whose client does not answer', false, { halfWebSocket: NEVER, closedWebSocket: 1 }],
  ['whose client left before', true, { halfWebSocket: NEVER, closedWebSocket: NEVER }],
] as const)
  test(`a WebSocket ${name} does not hold up a stop`, { timeout: TIMEOUT_MS }, async (t) => {
    const accepted = Promise.withResolvers<Socket>()
    const upstream = await startTcp(t, (socket) => {
      accepted.resolve(socket)
      socket.on('error', () => {}).on('data', () => {})
      socket.once('data', () => socket.write(ACCEPT_RESPONSE))
    })
    const { edge, port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)), {
      tickMs: 500,
      limits: { ...shortLimits, ...limits },
    })
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    client.on('error', () => {}).resume()
    client.write(UPGRADE_REQUEST)
    await once(client, 'data')
    if (hasLeft) {
      client.end()
      await once(await accepted.promise, 'end')
    }

    await edge.stop(NEVER)
  })

test('a client that disconnects before the upstream accepts ends the upstream connection', async (t) => {
  let accept = () => {}
  const { port, received } = await startUpstreamSide(t, (socket) => {
    accept = () => socket.write(ACCEPT_RESPONSE)
  })
  const client = openRawClient(t, port).write(UPGRADE_REQUEST)
  await eventually(() => received.text !== '', 'the upstream got the request')
  client.socket.end()
  await new Promise(setImmediate)
  accept()

  await eventually(() => received.ended, 'the upstream sees the end')
  await client.untilClosed()
})

test('nothing after the request is forwarded before 101, and never after another response', async (t) => {
  const responses = [
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno',
    'HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nno',
    'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n',
  ]
  for (const response of responses) {
    const { port, received } = await startUpstreamSide(t, (socket) =>
      setTimeout(() => socket.write(response), 30),
    )

    const client = await openRawClient(t, port)
      .write(UPGRADE_REQUEST + SMUGGLED)
      .untilClosed()

    assert.match(client.text, /Connection: close\r\n/)
    assert.match(client.text, /no/)
    assert.ok(!received.text.includes('smuggled'), response)
  }
})

test('a 101 that does not match the request is a 502', async (t) => {
  const wrong = [
    ACCEPT_RESPONSE.replace(ACCEPT, 'bm90IHRoZSByaWdodCBvbmU='),
    ACCEPT_RESPONSE.replace(/Sec-WebSocket-Accept.*\r\n/, ''),
    ACCEPT_RESPONSE.replace('Upgrade: websocket', 'Upgrade: h2c'),
    ACCEPT_RESPONSE.replace('Connection: Upgrade\r\n', ''),
  ]
  for (const response of wrong) {
    const { port, received } = await startUpstreamSide(t, (socket) => socket.write(response))

    const client = await openRawClient(t, port)
      .write(UPGRADE_REQUEST + SMUGGLED)
      .untilClosed()

    assert.match(client.text, /^HTTP\/1\.1 502 /, response)
    assert.ok(!received.text.includes('smuggled'))
  }
})

test('bytes sent before the upstream accepts are buffered and forwarded completely afterwards', async (t) => {
  const early = 'e'.repeat(300_000)
  let accept = () => {}
  const { port, received } = await startUpstreamSide(t, (socket) => {
    accept = () => socket.write(ACCEPT_RESPONSE)
  })

  const client = openRawClient(t, port).write(UPGRADE_REQUEST + early)
  await eventually(() => received.text !== '', 'the request arrived')
  assert.ok(!received.text.includes('eee'))
  accept()

  await eventually(() => received.text.endsWith(`\r\n\r\n${early}`), 'all of it arrived')
  assert.match(client.text, /^HTTP\/1\.1 101 /)
})

test('other upgrades are ignored and the request is forwarded as an ordinary one', async (t) => {
  const { port, received } = await startUpstreamSide(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
  })

  const client = openRawClient(t, port).write(
    `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
  )
  await client.untilText('ok')

  assert.ok(!/upgrade|http2/i.test(received.text))
})

for (const [side, endSide] of [
  ['the client', (client: Socket, _upstream: Socket) => client.end()],
  ['the upstream', (_client: Socket, upstream: Socket) => upstream.end()],
] as const) {
  test(`a WebSocket that ${side} has half-closed times out, though the other side goes on`, async (t) => {
    let upstreamSocket: Socket | undefined
    const upstream = await startTcp(t, (socket) => {
      upstreamSocket = socket
      socket.on('error', () => {})
      socket.once('data', () => socket.write(ACCEPT_RESPONSE))
      const talk = setInterval(() => socket.writable && socket.write('more'), 50)
      socket.on('close', () => clearInterval(talk))
    })
    const limits = { ...shortLimits, progress: 60_000, halfWebSocket: 500 }
    const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)), { limits })
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    client.on('error', () => {}).resume()
    const talk = setInterval(() => client.writable && client.write('more'), 50)
    t.after(() => clearInterval(talk))
    client.write(UPGRADE_REQUEST)
    await once(client, 'data')

    let open = 2
    for (const socket of [client, upstreamSocket!]) socket.once('close', () => open--)

    endSide(client, upstreamSocket!)

    await eventually(() => open === 0, 'both sides are closed')
  })
}

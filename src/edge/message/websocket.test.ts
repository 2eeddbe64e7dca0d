import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { eventually, shortLimits, startEdge, startTcp } from '../testing/edge.ts'
import { rawClient } from '../testing/raw-client.ts'
import { localTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
const ASK =
  `GET /ws HTTP/1.1\r\nHost: ${HOST}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n` +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`
const AGREE = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${ACCEPT}\r\n\r\n`
const SMUGGLED = `GET /smuggled HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`

/** Everything the upstream has got, and its socket. */
async function startSide(t: Parameters<typeof startTcp>[0], onHead: (socket: Socket) => void) {
  const seen = { text: '', ended: false }
  const upstream = await startTcp(t, (socket) => {
    socket.once('data', () => onHead(socket))
    socket.on('data', (chunk: Buffer) => {
      seen.text += chunk.toString('latin1')
    })
    socket.on('end', () => {
      seen.ended = true
      socket.end()
    })
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, localTunnel(upstream)))
  return { port, seen }
}

test('after 101 bytes pass both ways, those sent too early as well, until both sides end', async (t) => {
  const { port, seen } = await startSide(t, (socket) => socket.write(`${AGREE}first words`))

  const client = rawClient(t, port).write(`${ASK}early`)
  await client.untilText('first words')
  client.write(' and later')
  await eventually(() => seen.text.endsWith('early and later'), 'the upstream has it all')
  client.socket.end()
  await client.untilClosed()

  assert.match(seen.text, /\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n/)
  assert.match(client.text, /^HTTP\/1\.1 101 [\s\S]*Connection: Upgrade\r\nUpgrade: websocket\r\n/)
  assert.equal(seen.ended, true)
})

test('a visitor that leaves before the upstream agrees takes the upstream with it', async (t) => {
  let agree = () => {}
  const { port, seen } = await startSide(t, (socket) => {
    agree = () => socket.write(AGREE)
  })
  const client = rawClient(t, port).write(ASK)
  await eventually(() => seen.text !== '', 'the upstream was asked')
  client.socket.end()
  await new Promise(setImmediate)
  agree()

  await eventually(() => seen.ended, 'the upstream hears of it')
  await client.untilClosed()
})

test('until 101 nothing that follows the request leaves, and after another answer it never does', async (t) => {
  const answers = [
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno',
    'HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nno',
    'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n',
  ]
  for (const answer of answers) {
    const { port, seen } = await startSide(t, (socket) => setTimeout(() => socket.write(answer), 30))

    const client = await rawClient(t, port)
      .write(ASK + SMUGGLED)
      .untilClosed()

    assert.match(client.text, /Connection: close\r\n/)
    assert.match(client.text, /no/)
    assert.ok(!seen.text.includes('smuggled'), answer)
  }
})

test('a 101 that does not answer this request is a 502', async (t) => {
  const wrong = [
    AGREE.replace(ACCEPT, 'bm90IHRoZSByaWdodCBvbmU='),
    AGREE.replace(/Sec-WebSocket-Accept.*\r\n/, ''),
    AGREE.replace('Upgrade: websocket', 'Upgrade: h2c'),
    AGREE.replace('Connection: Upgrade\r\n', ''),
  ]
  for (const answer of wrong) {
    const { port, seen } = await startSide(t, (socket) => socket.write(answer))

    const client = await rawClient(t, port)
      .write(ASK + SMUGGLED)
      .untilClosed()

    assert.match(client.text, /^HTTP\/1\.1 502 /, answer)
    assert.ok(!seen.text.includes('smuggled'))
  }
})

test('what is sent before the upstream agreed waits, and arrives whole afterwards', async (t) => {
  const early = 'e'.repeat(300_000)
  let agree = () => {}
  const { port, seen } = await startSide(t, (socket) => {
    agree = () => socket.write(AGREE)
  })

  const client = rawClient(t, port).write(ASK + early)
  await eventually(() => seen.text !== '', 'the request arrived')
  assert.ok(!seen.text.includes('eee'))
  agree()

  await eventually(() => seen.text.endsWith(`\r\n\r\n${early}`), 'all of it arrived')
  assert.match(client.text, /^HTTP\/1\.1 101 /)
})

test('other protocols are ignored and the request passes as an ordinary one', async (t) => {
  const { port, seen } = await startSide(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
  })

  const client = rawClient(t, port).write(
    `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
  )
  await client.untilText('ok')

  assert.ok(!/upgrade|http2/i.test(seen.text))
})

for (const [who, half] of [
  ['the visitor', (visitor: Socket, _upstream: Socket) => visitor.end()],
  ['the upstream', (_visitor: Socket, upstream: Socket) => upstream.end()],
] as const) {
  test(`a WebSocket that ${who} has ended is over soon, though the other side goes on`, async (t) => {
    let side: Socket | undefined
    const upstream = await startTcp(t, (socket) => {
      side = socket
      socket.on('error', () => {})
      socket.once('data', () => socket.write(AGREE))
      const talk = setInterval(() => socket.writable && socket.write('more'), 50)
      socket.on('close', () => clearInterval(talk))
    })
    const limits = { ...shortLimits, progress: 60_000, halfWebSocket: 500 }
    const { port } = await startEdge(t, new TestTunnels().add(HOST, localTunnel(upstream)), { limits })
    const visitor = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    visitor.on('error', () => {}).resume()
    const talk = setInterval(() => visitor.writable && visitor.write('more'), 50)
    t.after(() => clearInterval(talk))
    visitor.write(ASK)
    await once(visitor, 'data')

    let open = 2
    for (const socket of [visitor, side!]) socket.once('close', () => open--)

    half(visitor, side!)

    await eventually(() => open === 0, 'both sides are closed')
  })
}

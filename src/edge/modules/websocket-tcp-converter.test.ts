import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import WebSocket from 'ws'
import { eventually } from '../../../test/support/eventually.ts'
import { startTcp } from '../../../test/support/local-server.ts'
import { RawClient } from '../../../test/support/raw-client.ts'
import { HOST, type HttpsEdgeHarness, startHttpsEdge } from '../testing/https-edge.ts'
import { createLocalTunnel } from '../testing/tunnels.ts'
import { FrameReader } from './websocket-frames.ts'

/** Starts an edge that converts WebSocket to TCP for this service. */
async function startConverter(
  t: TestContext,
  onConnection: (socket: Socket) => void,
): Promise<HttpsEdgeHarness> {
  const harness = await startHttpsEdge(t)
  const { config, routeId, tunnels } = harness
  tunnels.tunnels.splice(
    0,
    1,
    createLocalTunnel(await startTcp(t, onConnection), { labels: { app: 'shop' } }),
  )
  config.update(routeId, { websocket_tcp_converter: {} })
  await config.waitUntilApplied()
  return harness
}

function open(t: TestContext, { tlsPort, ca }: HttpsEdgeHarness, protocols: string[] = []): WebSocket {
  const socket = new WebSocket(`wss://${HOST}:${tlsPort}/`, protocols, {
    ca,
    lookup: (_host, options, done) =>
      options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
  })
  t.after(() => socket.terminate())
  return socket
}

test('payloads of any size pass in both directions', async (t) => {
  const harness = await startConverter(t, (socket) => socket.pipe(socket))
  const socket = open(t, harness, ['chat', 'binary'])
  await once(socket, 'open')
  const sent = [
    randomBytes(1),
    randomBytes(125),
    randomBytes(126),
    randomBytes(70_000),
    randomBytes(1_000_000),
  ]
  const total = sent.reduce((sum, { length }) => sum + length, 0)
  const received: Buffer[] = []
  socket.on('message', (data: Buffer) => received.push(data))

  for (const message of sent) socket.send(message)
  socket.ping('alive?')
  const [pong] = await once(socket, 'pong')
  await eventually(() => Buffer.concat(received).length === total, 'everything came back')
  socket.send('text is bytes too')
  await eventually(() => Buffer.concat(received).length > total, 'the text came back')

  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  assert.equal(digest(Buffer.concat(received).subarray(0, total)), digest(Buffer.concat(sent)))
  assert.equal(Buffer.concat(received).subarray(total).toString(), 'text is bytes too')
  assert.equal(String(pong), 'alive?')
  assert.equal(socket.protocol, 'binary')
})

test('each side sees the other one close, and the last bytes arrive', async (t) => {
  let received = ''
  let ended = false
  const harness = await startConverter(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      received += chunk
      if (String(chunk) === 'bye') socket.end('last words')
    })
    socket.on('end', () => {
      ended = true
      socket.end()
    })
  })

  const closing = open(t, harness)
  await once(closing, 'open')
  closing.send('hello')
  closing.close()
  await eventually(() => ended && received === 'hello', 'the service received all of it and the end')
  const closedByService = open(t, harness)
  await once(closedByService, 'open')
  const messages: string[] = []
  closedByService.on('message', (data: Buffer) => messages.push(String(data)))
  closedByService.send('bye')
  const [code] = await once(closedByService, 'close')

  assert.deepEqual(messages, ['last words'])
  assert.equal(code, 1000)
})

test('non-WebSocket requests are rejected, and a malformed frame closes only its own connection', async (t) => {
  const harness = await startConverter(t, (socket) => socket.pipe(socket))
  const { sendRequest, tlsPort, ca } = harness
  const plain = await sendRequest()
  const neighbour = open(t, harness)
  await once(neighbour, 'open')
  const frames = {
    unmasked: [0x82, 0x01, 0x41],
    reserved: [0xc2, 0x81, 0, 0, 0, 0, 0x41],
    unknown: [0x83, 0x81, 0, 0, 0, 0, 0x41],
    'long control': [0x89, 0xfe, 0, 200, 0, 0, 0, 0],
    'split control': [0x09, 0x81, 0, 0, 0, 0, 0x41],
    huge: [0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
  }

  for (const [name, frame] of Object.entries(frames)) {
    const socket = connectTls({
      port: tlsPort,
      host: '127.0.0.1',
      servername: HOST,
      ca,
      ALPNProtocols: ['http/1.1'],
    })
    t.after(() => socket.destroy())
    const client = new RawClient(socket).write(
      `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    await client.untilText('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
    client.write(Buffer.from(frame))
    await client.untilClosed()
    assert.deepEqual([...client.received.subarray(-4)], [0x88, 0x02, 0x03, 0xea], name)
  }
  neighbour.send('still here')
  const [data] = await once(neighbour, 'message')

  assert.equal(plain.status, 400)
  assert.equal(String(data), 'still here')
})

test('frames are parsed regardless of how they are split', () => {
  const payload = randomBytes(300)
  const mask = Buffer.from([1, 2, 3, 4])
  const masked = Buffer.from(payload.map((byte, index) => byte ^ mask[index & 3]!))
  const ping = Buffer.from([0x89, 0x82, 1, 2, 3, 4, 0x41 ^ 1, 0x42 ^ 2])
  const stream = Buffer.concat([
    Buffer.from([0x02, 0xfe, 1, 44]),
    mask,
    masked,
    ping,
    Buffer.from([0x80, 0x80, 0, 0, 0, 0]),
    ping,
  ])

  for (let size = 1; size <= stream.length; size++) {
    const payloads: Buffer[] = []
    const pings: string[] = []
    const reader = new FrameReader({
      onPayload: (bytes) => payloads.push(bytes),
      onPing: (bytes) => pings.push(bytes.toString()),
      onClose: () => assert.fail('unexpected close'),
    })
    for (let offset = 0; offset < stream.length; offset += size) {
      assert.equal(reader.push(stream.subarray(offset, offset + size)), undefined)
    }
    assert.ok(Buffer.concat(payloads).equals(payload), `in chunks of ${size}`)
    assert.deepEqual(pings, ['AB', 'AB'])
  }
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { constants, deflateRawSync } from 'node:zlib'
import { type PerMessageDeflateOptions, WebSocket, WebSocketServer } from 'ws'
import { eventually } from '../../../test/support/eventually.ts'
import { StreamDuplex } from '../../base/io/streams/stream-duplex.ts'
import { Meter } from '../metrics.ts'
import { startAgentWithApi, startHttpService } from '../testing/local-api.ts'
import { CaptureStore } from './capture-store.ts'
import { HttpTap } from './http-tap.ts'

interface FrameView {
  index: number
  from: string
  kind: string
  text?: string
  base64?: string
  size: number
  fragments?: number
  truncated: boolean
  compressed?: boolean
  decoded?: boolean
  close_code?: number
  event?: string
  id?: string
}

/** A WebSocket through an agent to an echo service. */
async function startEcho(t: TestContext, perMessageDeflate: boolean | PerMessageDeflateOptions = false) {
  const api = await startAgentWithApi(t)
  const service = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate })
  await once(service, 'listening')
  t.after(() => service.close())
  service.on('connection', (socket) => socket.on('message', (data, binary) => socket.send(data, { binary })))
  const addr = (service.address() as { port: number }).port
  const { json } = await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })
  const connection = new StreamDuplex(api.gateway.open(String(json.public_url)))
  const socket = new WebSocket('ws://n.test/chat', {
    createConnection: () => connection as never,
    perMessageDeflate: perMessageDeflate === false ? false : { threshold: 0 },
  })
  t.after(() => socket.terminate())
  await once(socket, 'open')
  const capture = api.agent.captures.list(1)[0]!
  const frames = async (query = '') =>
    (await api.get(`/api/requests/http/${capture.id}/frames${query}`)).json as {
      total: number
      dropped: number
      open: boolean
      frames: FrameView[]
    }
  const echo = async (data: string | Buffer) => {
    socket.send(data)
    await once(socket, 'message')
  }
  return { ...api, socket, capture, frames, echo }
}

test('WebSocket messages are captured as they flow, with their sender', async (t) => {
  const { socket, capture, frames, echo } = await startEcho(t)

  await echo('hello')
  await echo(Buffer.from([1, 2, 3]))
  socket.send('one ', { fin: false })
  socket.send('two')
  await once(socket, 'message')
  const open = await frames()
  socket.close(4000, 'enough')
  await eventually(() => capture.frames?.open === false)
  const { frames: list, total } = await frames()

  assert.equal(open.open, true)
  assert.equal(total, 8)
  assert.deepEqual(
    list.map(({ from, kind, text, base64, fragments, close_code }) => [
      from,
      kind,
      text ?? base64,
      fragments ?? close_code,
    ]),
    [
      ['client', 'text', 'hello', 1],
      ['server', 'text', 'hello', 1],
      ['client', 'binary', 'AQID', 1],
      ['server', 'binary', 'AQID', 1],
      ['client', 'text', 'one two', 2],
      ['server', 'text', 'one two', 1],
      ['client', 'close', 'enough', 1],
      ['server', 'close', 'enough', 1],
    ],
  )
  assert.equal(list[6]?.close_code, 4000)
  assert.deepEqual(
    (await frames('?after=6&limit=1')).frames.map(({ index }) => index),
    [7],
  )
})

for (const [name, options] of [
  ['without context takeover', { serverNoContextTakeover: true, clientNoContextTakeover: true }],
  ['with context takeover', {}],
] as const) {
  test(`compressed messages are decoded ${name}`, async (t) => {
    const { frames, echo, capture } = await startEcho(t, { threshold: 0, ...options })

    for (let count = 0; count < 4; count++) await echo(`{"the same words again and again":${count}}`)
    await eventually(() => capture.frames?.total === 8)
    const { frames: list } = await frames()

    assert.deepEqual(
      list.map(({ text, compressed, decoded }) => [text, compressed, decoded]),
      [0, 0, 1, 1, 2, 2, 3, 3].map((count) => [`{"the same words again and again":${count}}`, true, true]),
    )
    assert.ok(list[7]!.size < 50)
  })
}

test('server-sent events are captured as they flow, and sent on the live stream', async (t) => {
  const api = await startAgentWithApi(t)
  let send: (text: string) => void = () => {}
  const addr = await startHttpService(t, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' })
    send = (text) => response.write(text)
    send('event: hello\nid: 1\ndata: {"a":1}\n\n')
  })
  const { json } = await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })
  const live = await fetch(`${api.api.url}/api/requests/http/stream?frames=true`)
  const received: string[] = []
  const reading = (async () => {
    for await (const chunk of live.body!.pipeThrough(new TextDecoderStream())) received.push(chunk)
  })().catch(() => {})
  const stream = api.gateway.open(String(json.public_url))
  stream.sink = { onData: (chunk) => stream.consumed(chunk.length), onEnd() {}, onDrain() {}, onClose() {} }

  stream.write(Buffer.from('GET /events HTTP/1.1\r\nHost: x\r\n\r\n'))
  await eventually(() => api.agent.captures.list(1)[0]?.frames?.total === 1)
  send('data: two\n\n')
  await eventually(() => received.join('').includes('"text":"two"'))
  const { id } = api.agent.captures.list(1)[0]!
  const exchange = (await api.get(`/api/requests/http/${id}`)).json as {
    frames: { open: boolean; uri: string }
  }
  const list = (await api.get(exchange.frames.uri)).json as { frames: FrameView[] }
  stream.reset()
  await eventually(() => api.agent.captures.get(id)?.frames?.open === false)
  api.api.close()
  await reading

  assert.equal(exchange.frames.open, true)
  assert.deepEqual(
    list.frames.map(({ from, kind, event, id: eventId, text }) => [from, kind, event, eventId, text]),
    [
      ['server', 'event', 'hello', '1', '{"a":1}'],
      ['server', 'event', 'message', '1', 'two'],
    ],
  )
  assert.match(received.join(''), new RegExp(`event: frames\ndata: {"id":"${id}"`))
})

test('an exchange without frames has an empty list, an unknown exchange is a 404', async (t) => {
  const api = await startAgentWithApi(t)
  const capture = api.agent.captures.begin('web', 'x', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 1)

  const { json } = await api.get(`/api/requests/http/${capture.id}/frames`)

  assert.deepEqual(json, {
    uri: `/api/requests/http/${capture.id}/frames`,
    total: 0,
    dropped: 0,
    open: false,
    frames: [],
  })
  assert.equal((await api.get('/api/requests/http/airt_none/frames')).status, 404)
  assert.equal((await api.get(`/api/requests/http/${capture.id}/frames?after=x`)).status, 400)
})

function createUpgradedTap(limit: number, extensions = '') {
  const clock = { now: () => 0, monotonic: () => 0 }
  const store = new CaptureStore(limit)
  const tap = new HttpTap({ tunnelName: 'web', remoteAddr: 'x', meter: new Meter(clock), store, clock })
  tap.pushRequest(Buffer.from('GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n'))
  tap.pushResponse(Buffer.from(`HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n${extensions}\r\n`))
  return { store, tap, capture: store.list()[0]! }
}

/** A server frame with a payload of 126 to 65,535 bytes. */
function serverFrame(payload: Buffer, first = 0x82): Buffer {
  const head = Buffer.from([first, 126, 0, 0])
  head.writeUInt16BE(payload.length, 2)
  return Buffer.concat([head, payload])
}

test('frames beyond the limit are dropped, oldest first, and counted', () => {
  const { tap, capture, store } = createUpgradedTap(50e6)

  for (let count = 0; count < 1000; count++) tap.pushResponse(serverFrame(Buffer.alloc(10_000, count)))

  const { frames } = capture
  assert.equal(frames?.total, 1000)
  assert.ok(frames.size <= 1024 * 1024)
  assert.ok(frames.dropped > 890)
  assert.equal(frames.framesAfter(0)[0]?.index, frames.dropped + 1)
  assert.deepEqual(
    frames.framesAfter(998).map(({ index }) => index),
    [999, 1000],
  )
  assert.ok(store.bytes > frames.size && store.bytes < frames.size + 10_000)
})

test('frames count against the limit of the store and are evicted with their exchange', () => {
  const { tap, store, capture } = createUpgradedTap(300_000)

  for (let count = 0; count < 100; count++) tap.pushResponse(serverFrame(Buffer.alloc(10_000)))
  tap.pushRequest(Buffer.from([0x81, 0x80, 0, 0, 0, 0]))

  assert.equal(capture.stored, false)
  assert.equal(capture.frames, undefined)
  assert.equal(store.bytes, 0)
})

test('a message that cannot be decoded is captured undecoded', async () => {
  const { tap, capture } = createUpgradedTap(50e6, 'Sec-WebSocket-Extensions: permessage-deflate\r\n')
  const bomb = deflateRawSync(Buffer.alloc(20e6), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
  const plain = deflateRawSync('x'.repeat(5), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)

  tap.pushResponse(serverFrame(bomb, 0xc1))
  tap.pushResponse(Buffer.concat([Buffer.from([0xc1, plain.length]), plain]))
  while (capture.frames?.total !== 2) await new Promise((resolve) => setImmediate(resolve))

  assert.deepEqual(
    capture.frames.framesAfter(0).map(({ compressed, decoded }) => [compressed, decoded]),
    [
      [true, false],
      [true, false],
    ],
  )
})

test('compressed messages that arrive faster than they are decoded are captured undecoded', async () => {
  const { tap, capture } = createUpgradedTap(
    50e6,
    'Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n',
  )
  const noise = Buffer.from(Array.from({ length: 9000 }, () => Math.floor(Math.random() * 256)))
  const compressedPayload = deflateRawSync(noise, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)

  for (let count = 0; count < 40; count++) tap.pushResponse(serverFrame(compressedPayload, 0xc2))

  assert.ok(capture.frames!.total > 10, 'messages beyond the limit are emitted at once')
  while (capture.frames?.total !== 40) await new Promise((resolve) => setImmediate(resolve))
  const decoded = capture.frames.framesAfter(0).map((frame) => frame.decoded)
  assert.ok(decoded.includes(false))
  assert.equal(decoded.at(-1), true)
})

test('an upgraded connection with another protocol gives a stop reason', () => {
  const { tap, capture } = createUpgradedTap(50e6)

  tap.pushResponse(Buffer.from('SSH-2.0-server\r\n'))

  assert.equal(capture.frames?.open, false)
  assert.match(capture.frames?.stopReason ?? '', /not WebSocket/)
})

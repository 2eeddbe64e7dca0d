import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { WindowBudget } from '../base/io/memory/window-budget.ts'
import type { Clock } from '../base/values/clock.ts'
import { Http2Windows, STREAM_WINDOW_BYTES } from './http2-windows.ts'
import { frame } from './testing/http2-frame.ts'

const MiB = 1024 * 1024

/** What a stream may hold whose reader stopped: its initial window, Node's read buffer and one frame. */
const BASE_BYTES = STREAM_WINDOW_BYTES + 80 * 1024

/** A server whose streams are read when the test says so. Its clock stands still until the test makes its readers slow. */
async function startServer(t: TestContext, budget = new WindowBudget()) {
  let now = 1000
  let readingMs = 0
  const clock: Clock = {
    now: () => now,
    monotonic() {
      now += readingMs
      return now
    },
  }
  const sessions: ServerHttp2Session[] = []
  const streams: ServerHttp2Stream[] = []
  const received = new Map<ServerHttp2Stream, number>()
  const errors: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    const session = performServerHandshake(socket, {
      settings: { initialWindowSize: STREAM_WINDOW_BYTES, maxConcurrentStreams: 100 },
    })
    session.on('error', (error: Error) => errors.push(error.message))
    sessions.push(session)
    const windows = new Http2Windows({ session, clock, budget })
    session.on('stream', (stream) => {
      stream.on('error', () => {})
      const reads = windows.track(stream)
      stream.on('data', (chunk: Buffer) => {
        received.set(stream, (received.get(stream) ?? 0) + chunk.length)
        reads.consumed(chunk.length)
      })
      streams.push(stream)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    sessions,
    streams,
    received,
    errors,
    get unread() {
      return streams.reduce((sum, stream) => sum + stream.readableLength, 0)
    },
    /** From now on, every look at the clock finds that much later. */
    slowDown(milliseconds: number) {
      readingMs = milliseconds
    },
    connect(): ClientHttp2Session {
      const session = connect(`http://127.0.0.1:${port}`)
      session.on('error', () => {})
      t.after(() => session.destroy())
      return session
    },
  }
}

/** An upload without end. */
function upload(session: ClientHttp2Session): ClientHttp2Stream {
  const stream = session.request({ ':method': 'POST' })
  stream.on('error', () => {})
  const chunk = Buffer.alloc(64 * 1024)
  const write = () => {
    while (!stream.destroyed && stream.write(chunk));
  }
  stream.on('drain', write)
  write()
  return stream
}

function windowOf(session: ClientHttp2Session): number {
  return session.remoteSettings?.initialWindowSize ?? 0
}

test('the windows of a connection whose readers keep up grow, up to their maximum', async (t) => {
  const server = await startServer(t)
  const session = server.connect()
  upload(session)

  await eventually(() => windowOf(session) === 16 * MiB, 'the largest window')
  await eventually(() => (session.state.remoteWindowSize ?? 0) > 8 * MiB, 'the window of the connection')
})

test('many slow streams together grow the windows as one fast stream does', async (t) => {
  const server = await startServer(t)
  const session = server.connect()
  for (let n = 0; n < 10; n++) upload(session)

  await eventually(() => windowOf(session) >= MiB, 'larger windows')
})

test('windows shrink back when their readers take many round trips', async (t) => {
  const budget = new WindowBudget()
  const free = budget.free
  const server = await startServer(t, budget)
  const session = server.connect()
  upload(session)
  await eventually(() => windowOf(session) >= MiB, 'larger windows')

  server.slowDown(60_000)

  await eventually(() => windowOf(session) === STREAM_WINDOW_BYTES, 'the initial window')
  await eventually(() => budget.free === free, 'the whole budget')
})

test('a stream that stops leaves the window to the others of its connection', async (t) => {
  const server = await startServer(t)
  const session = server.connect()
  upload(session)
  upload(session)
  await eventually(() => windowOf(session) >= 4 * MiB, 'larger windows')

  server.streams[0]!.pause()
  await eventually(() => server.unread >= 2 * MiB, 'a stalled stream')
  const before = server.received.get(server.streams[1]!)!
  await eventually(() => server.received.get(server.streams[1]!)! - before >= 32 * MiB, 'the other stream')

  // It is small for a moment when the stalled stream holds most of the largest window.
  await eventually(() => windowOf(session) >= 4 * MiB, 'a large window')
})

test('when readers stop, windows fall back before they exceed the budget, and nothing is lost', async (t) => {
  const budgetBytes = 8 * MiB
  const server = await startServer(t, new WindowBudget(budgetBytes))
  const session = server.connect()
  const uploads = Array.from({ length: 20 }, () => upload(session))
  await eventually(() => windowOf(session) >= MiB, 'larger windows')

  for (const stream of server.streams) stream.pause()
  await eventually(() => windowOf(session) === STREAM_WINDOW_BYTES, 'the initial window')
  const settled = session.request({ ':method': 'POST' })
  settled.on('error', () => {})
  await eventually(() => server.streams.length === 21, 'all that was sent before')

  assert.ok(server.unread <= 20 * BASE_BYTES + budgetBytes, `${server.unread} bytes`)
  assert.deepEqual(server.errors, [])
  for (const stream of uploads) stream.removeAllListeners('drain').end()
  const ended = Promise.all(server.streams.slice(0, 20).map((stream) => once(stream, 'end')))
  for (const stream of server.streams) stream.resume()
  await ended
})

test('a closed connection gives its share back', async (t) => {
  const budget = new WindowBudget()
  const free = budget.free
  const server = await startServer(t, budget)
  const session = server.connect()
  upload(session)
  await eventually(() => windowOf(session) >= MiB, 'larger windows')
  const taken = free - budget.free

  session.destroy()

  await eventually(() => budget.free === free, 'the whole budget')
  assert.ok(taken > 0)
})

test('a connection without requests in flight takes nothing of the budget, and keeps its windows', async (t) => {
  const budget = new WindowBudget()
  const free = budget.free
  const server = await startServer(t, budget)
  const session = server.connect()
  const stream = upload(session)
  await eventually(() => windowOf(session) >= MiB, 'larger windows')

  stream.close(constants.NGHTTP2_CANCEL)

  await eventually(() => budget.free === free, 'the whole budget')
  assert.ok(windowOf(session) >= MiB)
})

test('200 connections that read fast and then stop hold no more than the budget, and a fast one keeps its window', async (t) => {
  const budgetBytes = 16 * MiB
  const server = await startServer(t, new WindowBudget(budgetBytes))
  const receivedBy = (index: number) => server.received.get(server.streams[index]!) ?? 0
  const fast = server.connect()
  const fastUpload = upload(fast)
  await eventually(() => windowOf(fast) >= MiB, 'a larger window')
  const write = fastUpload.listeners('drain')[0] as () => void
  fastUpload.off('drain', write)

  for (let index = 1; index <= 200; index++) {
    const session = server.connect()
    upload(session)
    await eventually(() => server.streams.length > index && receivedBy(index) >= MiB / 4, 'a fast reader')
    server.streams[index]!.pause()
  }
  await eventually(() => server.unread >= 200 * STREAM_WINDOW_BYTES, 'stalled streams')
  const before = receivedBy(0)
  fastUpload.on('drain', write)
  write()
  await eventually(() => receivedBy(0) - before >= 16 * MiB, 'the bytes of the fast stream')

  assert.ok(server.unread <= 201 * BASE_BYTES + budgetBytes, `${server.unread} bytes`)
  assert.ok(windowOf(fast) >= MiB, `${windowOf(fast)} bytes`)
  assert.deepEqual(server.errors, [])
})

test('a client that keeps sending into windows that were taken back is disconnected', async (t) => {
  const server = await startServer(t, new WindowBudget(4 * MiB))
  const client = await connectRaw(t, server.port)
  for (let stream = 1; stream < 200; stream += 2) client.open(stream)
  await eventually(() => server.streams.length === 100, 'the streams')
  // Obeys while its windows grow.
  while (client.window < MiB) {
    await eventually(() => client.mayFill(1), 'credit')
    client.send(1)
  }

  client.obeys = false
  for (const stream of server.streams) stream.pause()
  for (let round = 0; round < 64 && !client.closed; round++) {
    for (let stream = 1; stream < 200; stream += 2) client.send(stream)
    await new Promise((resolve) => setImmediate(resolve))
  }

  await eventually(() => client.closed, 'the end of the connection')
  assert.equal(client.goawayCode, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  assert.deepEqual(server.errors, ['The HTTP/2 peer ignores the windows that it was sent.'])
  assert.ok(server.unread <= 200 * BASE_BYTES + 8 * MiB, `${server.unread} bytes`)
})

const DATA = 0
const HEADERS = 1
const SETTINGS = 4
const PING = 6
const GOAWAY = 7
const WINDOW_UPDATE = 8
const INITIAL_WINDOW_SIZE = 4
const FRAME_BYTES = 16 * 1024

/** A client that writes its own frames. While it obeys, it acknowledges settings and pings. */
async function connectRaw(t: TestContext, port: number) {
  const socket: Socket = connectTcp(port, '127.0.0.1')
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  const client = {
    obeys: true,
    window: 65_535,
    /** By stream; 0 is the connection. */
    credit: new Map<number, number>([[0, 65_535]]),
    goawayCode: -1,
    closed: false,
    open(stream: number) {
      client.credit.set(stream, client.window)
      socket.write(frame(HEADERS, 4, stream, POST))
    },
    mayFill: (stream: number) => [0, stream].every((id) => client.credit.get(id)! >= FRAME_BYTES),
    send(stream: number) {
      for (const id of [0, stream]) client.credit.set(id, client.credit.get(id)! - FRAME_BYTES)
      socket.write(frame(DATA, 0, stream, Buffer.alloc(FRAME_BYTES)))
    },
  }
  socket.on('close', () => {
    client.closed = true
  })
  let received = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    while (received.length >= 9 && received.length >= 9 + received.readUIntBE(0, 3)) {
      const length = received.readUIntBE(0, 3)
      onFrame(received[3]!, received[4]!, received.readUInt32BE(5), received.subarray(9, 9 + length))
      received = received.subarray(9 + length)
    }
  })
  function onFrame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === GOAWAY) client.goawayCode = payload.readUInt32BE(4)
    else if (type === WINDOW_UPDATE)
      client.credit.set(stream, (client.credit.get(stream) ?? 0) + payload.readUInt32BE(0))
    else if (!client.obeys || flags === 1) return
    else if (type === PING) socket.write(frame(PING, 1, 0, payload))
    else if (type === SETTINGS) {
      for (let offset = 0; offset < payload.length; offset += 6)
        if (payload.readUInt16BE(offset) === INITIAL_WINDOW_SIZE) resize(payload.readUInt32BE(offset + 2))
      socket.write(frame(SETTINGS, 1, 0, EMPTY))
    }
  }
  function resize(window: number): void {
    for (const [id, credit] of client.credit)
      if (id !== 0) client.credit.set(id, credit + window - client.window)
    client.window = window
  }
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0, EMPTY)]))
  return client
}

const EMPTY = Buffer.alloc(0)

/** `:method: POST`, `:path: /`, `:scheme: http` of HPACK's static table, and an authority. */
const POST = Buffer.from([0x83, 0x84, 0x86, 0x41, 1, 0x61])

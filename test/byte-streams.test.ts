import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { SocketStream } from '../src/base/io/sockets/socket-stream.ts'
import { BufferedStream } from '../src/base/io/streams/buffered-stream.ts'
import type { ByteStream, StreamSink } from '../src/base/io/streams/stream.ts'
import { StreamDuplex } from '../src/base/io/streams/stream-duplex.ts'
import { StreamLayer } from '../src/base/io/streams/stream-layer.ts'
import { DialledStream } from '../src/edge/backends/dialled-stream.ts'
import { FallbackStream } from '../src/edge/backends/fallback-stream.ts'
import type { UpstreamTarget } from '../src/edge/contracts/backend.ts'
import type { ClientInfo } from '../src/edge/contracts/tunnels.ts'
import { PendingStream } from '../src/sessions/session/pending-stream.ts'
import { eventually } from './support/eventually.ts'

/** Generous, for a busy machine. */
const DEADLINE_MS = 30_000

// The contract of `ByteStream`, which every adapter and every stream that buffers keeps. Mux streams have their own
// (`src/protocol/mux/mux.contract.test.ts`), since their far end is a mux too.

const openPending = (socket: Socket, confirmsLater: boolean) => {
  const stream = new PendingStream({ retry() {}, cancel() {} }, confirmsLater, {} as never, undefined)
  setImmediate(() => {
    stream.attach(new SocketStream(socket))
    setImmediate(() => stream.confirm())
  })
  return stream
}

const streams: Record<string, (socket: Socket) => ByteStream> = {
  'a socket': (socket) => new SocketStream(socket),
  'a stream adapted to Node and back': (socket) =>
    new SocketStream(new StreamDuplex(new SocketStream(socket))),
  'a layer': (socket) => new StreamLayer(new SocketStream(socket)),
  'a buffered stream': (socket) => {
    const stream = new BufferedStream(new SocketStream(socket))
    setImmediate(() => stream.flush())
    return stream
  },
  'a dialled stream': (socket) => new DialledStream(socket, socket, 'connect'),
  'a stream that may fall back to another target': (socket) => {
    const target = { open: () => new DialledStream(socket, socket, 'connect') } as unknown as UpstreamTarget
    return new FallbackStream({} as ClientInfo, target, [], () => undefined)
  },
  'a pending stream': (socket) => openPending(socket, false),
  'a pending stream that has to be acknowledged': (socket) => openPending(socket, true),
}

/** Records what a sink is told, and credits what it gets unless told otherwise. */
class RecordingSink implements StreamSink {
  readonly chunks: Buffer[] = []
  received = 0
  ended = false
  drains = 0
  readonly closes: (Error | undefined)[] = []
  credits = true
  readonly #stream: ByteStream

  constructor(stream: ByteStream) {
    this.#stream = stream
    stream.sink = this
  }

  onData(chunk: Buffer): void {
    this.chunks.push(Buffer.from(chunk))
    this.received += chunk.length
    if (this.credits) this.#stream.consumed(chunk.length)
  }

  onEnd(): void {
    this.ended = true
  }

  onDrain(): void {
    this.drains++
  }

  onClose(error?: Error): void {
    this.closes.push(error)
  }
}

async function openStream(t: TestContext, wrap: (socket: Socket) => ByteStream) {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const { port } = server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const stream = wrap(socket)
  const sink = new RecordingSink(stream)
  const [peer] = (await accepted) as [Socket]
  peer.on('error', () => {})
  t.after(() => {
    socket.destroy()
    peer.destroy()
    server.close()
  })
  return { stream, sink, peer }
}

function readAll(peer: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  peer.on('data', (chunk: Buffer) => chunks.push(chunk))
  peer.resume()
  return once(peer, 'end').then(() => Buffer.concat(chunks))
}

for (const [name, wrap] of Object.entries(streams)) {
  test(`${name}: chunks arrive complete and in order, though their memory is used again`, async (t) => {
    const { stream, peer } = await openStream(t, wrap)
    const sizes = Array.from({ length: 1500 }, (_, index) => (index % 100 === 7 ? 20_000 : 1 + (index % 50)))
    const expected: Buffer[] = []
    const memory = Buffer.alloc(20_000)

    for (const [index, size] of sizes.entries()) {
      const chunk = memory.fill(index % 256).subarray(0, size)
      expected.push(Buffer.from(chunk))
      stream.write(chunk)
    }
    memory.fill('!')
    stream.end()

    assert.ok((await readAll(peer)).equals(Buffer.concat(expected)))
  })

  test(`${name}: what is written after the peer has ended arrives, and both ends are clean`, async (t) => {
    const { stream, sink, peer } = await openStream(t, wrap)
    peer.end('question')
    await eventually(() => sink.ended, 'the end of the peer', DEADLINE_MS)
    const answer = Buffer.alloc(3_000_000, 'answer')

    stream.write(answer)
    stream.end()
    const received = await readAll(peer)
    await eventually(() => sink.closes.length > 0, 'the close', DEADLINE_MS)

    assert.equal(Buffer.concat(sink.chunks).toString(), 'question')
    assert.ok(received.equals(answer))
    assert.deepEqual(sink.closes, [undefined])
  })

  test(`${name}: a peer that is not credited is stopped, and goes on when it is`, async (t) => {
    const { stream, sink, peer } = await openStream(t, wrap)
    const total = 4_000_000
    sink.credits = false
    peer.end(Buffer.alloc(total))

    await eventually(() => sink.received >= 256 * 1024 - 64 * 1024, 'a window of bytes', DEADLINE_MS)
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
    assert.ok(sink.received <= 512 * 1024, `${sink.received} bytes delivered`)
    sink.credits = true
    stream.consumed(sink.received)

    await eventually(() => sink.received === total && sink.ended, 'the rest', DEADLINE_MS)
    stream.end()
  })

  test(`${name}: a writer gets back-pressure, and a drain once the peer reads`, async (t) => {
    const { stream, sink, peer } = await openStream(t, wrap)
    const chunk = Buffer.alloc(16_384)
    let written = 0
    for (let idle = 0; idle < 50; ) {
      const { drains } = sink
      written += chunk.length
      if (stream.write(chunk)) continue
      // Node and the kernel take some of it: blocked for good means no drain while others get their turn.
      for (idle = 0; idle < 50 && sink.drains === drains; idle++) await new Promise(setImmediate)
    }
    const { drains } = sink

    const received = readAll(peer)
    await eventually(() => sink.drains > drains, 'a drain', DEADLINE_MS)
    stream.end()

    assert.equal((await received).length, written)
  })

  test(`${name}: a reset is an error for the peer, and closes the sink once`, async (t) => {
    const { stream, sink, peer } = await openStream(t, wrap)
    peer.write('x')
    await eventually(() => sink.received === 1, 'a byte of the peer', DEADLINE_MS)
    const failed = new Promise<boolean>((resolve) => peer.on('close', resolve))

    peer.resume()
    stream.reset(new Error('broken'))
    stream.reset(new Error('again'))

    assert.equal(await failed, true)
    await eventually(() => sink.closes.length > 0, 'the close', DEADLINE_MS)
    assert.equal(sink.closes.length, 1)
    assert.ok(sink.closes[0] instanceof Error)
  })

  test(`${name}: a reset of the peer closes with an error, never with a clean end`, async (t) => {
    const { sink, peer } = await openStream(t, wrap)
    peer.write('partial')
    await eventually(() => sink.received === 7, 'the bytes before it', DEADLINE_MS)

    peer.resetAndDestroy()
    await eventually(() => sink.closes.length > 0, 'the close', DEADLINE_MS)

    assert.equal(sink.ended, false)
    assert.ok(sink.closes[0] instanceof Error)
  })
}

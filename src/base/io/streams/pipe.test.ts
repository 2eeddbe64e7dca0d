import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type OnReadOpts, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startTcp } from '../../../../test/support/local-server.ts'
import { SocketStream } from '../sockets/socket-stream.ts'
import { FlushScheduler } from './flush-scheduler.ts'
import { Pipe, type PipeResult } from './pipe.ts'
import { resetSocket } from './reset.ts'
import { type ByteStream, type StreamSink, silentSink } from './stream.ts'
import { StreamRelay } from './stream-relay.ts'

const dial = (port: number, onread?: OnReadOpts) =>
  connect({ port, host: '127.0.0.1', allowHalfOpen: true, ...(onread && { onread }) })

/** Joins an accepted socket and a connection to the service; returns the pipe, if it is one. */
type Join = (socket: Socket, servicePort: number, onClose: (result?: PipeResult) => void) => Pipe | undefined

const scheduler = new FlushScheduler()
const readBuffer = Buffer.alloc(64 * 1024)

/** The ways to join bytes, which all keep this contract. */
const joiners: Record<string, Join> = {
  'a pipe': (socket, servicePort, onClose) => {
    const pipe = new Pipe(new SocketStream(dial(servicePort)), scheduler, onClose)
    pipe.attach({ socket, abort: () => resetSocket(socket) })
    return pipe
  },
  'a pipe whose socket connects later and reads into a shared buffer': (socket, servicePort, onClose) => {
    const pipe = new Pipe(new SocketStream(socket), scheduler, onClose)
    const callback = (bytes: number) => pipe.onSocketData(readBuffer.subarray(0, bytes))
    const upstream = dial(servicePort, { buffer: readBuffer, callback })
    upstream.once('connect', () =>
      pipe.attach({ socket: upstream, abort: () => resetSocket(upstream), usesOnread: true }),
    )
    return pipe
  },
  'a relay of two streams': (socket, servicePort, onClose) => {
    new StreamRelay(new SocketStream(socket), new SocketStream(dial(servicePort)), () => onClose())
    return undefined
  },
}

/** A proxy with one way to join. `result` resolves when the first connection ends. */
async function startProxy(t: TestContext, join: Join, service: (socket: Socket) => void) {
  const port = await startTcp(t, service)
  const pipes: (Pipe | undefined)[] = []
  const { promise: result, resolve } = Promise.withResolvers<PipeResult | undefined>()
  const entry = await startTcp(t, (socket) => pipes.push(join(socket, port, resolve)))
  const client = dial(entry)
  client.on('error', () => {})
  t.after(() => client.destroy())
  return { client, result, pipes }
}

/** All bytes until the end; iterating over a socket would destroy it there. */
function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  return new Promise((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('end', () => resolve(Buffer.concat(chunks)))
    socket.on('error', reject)
  })
}

for (const [name, join] of Object.entries(joiners)) {
  test(`${name}: all bytes pass in both directions at once and are counted`, async (t) => {
    const [up, down] = [randomBytes(5_000_000), randomBytes(6_000_000)]
    let serviceReceived: Promise<Buffer> = Promise.resolve(Buffer.alloc(0))
    const { client, result } = await startProxy(t, join, (socket) => {
      serviceReceived = readAll(socket)
      socket.end(down)
    })

    client.end(up)
    const received = await readAll(client)

    assert.ok(received.equals(down))
    assert.ok((await serviceReceived).equals(up))
    const pipeResult = await result
    if (pipeResult === undefined) return
    assert.equal(pipeResult.error, undefined)
    assert.equal(pipeResult.bytesIn + pipeResult.bytesOut, up.length + down.length)
  })

  test(`${name}: a half-close passes and the other direction stays open`, async (t) => {
    const { client } = await startProxy(t, join, (socket) => {
      void readAll(socket).then((bytes) => socket.end(`received ${bytes}`))
    })

    client.end('request')

    assert.equal(String(await readAll(client)), 'received request')
  })

  test(`${name}: a reset on one side is an error on the other, never a clean end`, async (t) => {
    const { client, result } = await startProxy(t, join, (socket) => {
      socket.once('data', () => {
        socket.write('partial')
        setTimeout(() => socket.resetAndDestroy(), 20)
      })
    })

    client.write('go')

    await assert.rejects(readAll(client), { code: 'ECONNRESET' })
    const pipeResult = await result
    assert.ok(pipeResult === undefined || pipeResult.error instanceof Error)
  })

  test(`${name}: a client that vanishes resets the service`, async (t) => {
    let broken: Promise<Buffer> = Promise.resolve(Buffer.alloc(0))
    const { client, result } = await startProxy(t, join, (socket) => {
      broken = readAll(socket)
      broken.catch(() => {})
      socket.write('hello')
    })

    await once(client, 'data')
    client.resetAndDestroy()
    await result

    await assert.rejects(broken, { code: 'ECONNRESET' })
  })

  test(`${name}: a stalled reader buffers a bounded amount`, async (t) => {
    let sent = 0
    const block = Buffer.alloc(64 * 1024)
    const { client, pipes } = await startProxy(t, join, (socket) => {
      const pump = () => {
        while (sent < 400_000_000 && socket.write(block)) sent += block.length
      }
      socket.on('drain', pump)
      pump()
    })

    client.pause()
    let last = -1
    while (sent !== last) {
      last = sent
      await new Promise((resolve) => setTimeout(resolve, 100))
    }

    assert.ok(sent < 400_000_000)
    const [pipe] = pipes
    if (pipe === undefined) return
    assert.ok(pipe.waiting)
    assert.ok(pipe.pending <= 512 * 1024, `${pipe.pending} bytes buffered`)
  })
}

test('bytes and the end of a stream wait for the socket', async (t) => {
  const accepted = Promise.withResolvers<Socket>()
  const service = await startTcp(t, (socket) => accepted.resolve(socket))
  const stream = new RecordingStream()
  const pipe = new Pipe(stream, scheduler, () => {})
  stream.sink.onData(Buffer.from('before '))
  stream.sink.onData(Buffer.from('the socket'))
  stream.sink.onEnd()

  const socket = dial(service)
  pipe.attach({ socket, abort: () => resetSocket(socket) })

  assert.equal(String(await readAll(await accepted.promise)), 'before the socket')
})

test('a stream that no socket was found for is released with its credit', () => {
  const stream = new RecordingStream()
  const pipe = new Pipe(stream, scheduler, () => {})
  stream.sink.onData(Buffer.from('waiting'))

  pipe.detach()

  assert.equal(stream.credited, 'waiting'.length)
})

test('a stream that closes before the socket is attached closes the pipe', () => {
  const stream = new RecordingStream()
  const results: PipeResult[] = []
  new Pipe(stream, scheduler, (result) => results.push(result))
  const error = new Error('gone')

  stream.sink.onClose(error)

  assert.deepEqual(results, [{ bytesIn: 0, bytesOut: 0, error }])
})

/** A stream without a peer. */
class RecordingStream implements ByteStream {
  sink: StreamSink = silentSink
  credited = 0
  write(): boolean {
    return true
  }
  end(): void {}
  reset(): void {}
  consumed(bytes: number): void {
    this.credited += bytes
  }
}

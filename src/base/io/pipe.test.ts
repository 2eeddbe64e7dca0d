import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { FlushScheduler } from './flush-scheduler.ts'
import { Pipe, type PipeResult } from './pipe.ts'
import { resetSocket } from './reset.ts'
import { SocketStream } from './socket-stream.ts'

async function listen(t: TestContext, onConnection: (socket: Socket) => void): Promise<number> {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

const dial = (port: number) => connect({ port, host: '127.0.0.1', allowHalfOpen: true })

/** A proxy made of one pipe to the service. `result` resolves when the first connection ends. */
async function startProxy(t: TestContext, service: (socket: Socket) => void) {
  const scheduler = new FlushScheduler()
  const port = await listen(t, service)
  const pipes: Pipe[] = []
  let onClose: (result: PipeResult) => void = () => {}
  const result = new Promise<PipeResult>((resolve) => {
    onClose = resolve
  })
  const entry = await listen(t, (socket) => {
    const stream = new SocketStream(dial(port))
    const pipe = new Pipe(stream, scheduler, onClose)
    pipe.attach({ socket, abort: () => resetSocket(socket) })
    pipes.push(pipe)
  })
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

test('all bytes pass in both directions at once and are counted', async (t) => {
  const [up, down] = [randomBytes(5_000_000), randomBytes(6_000_000)]
  let serviceReceived: Promise<Buffer> = Promise.resolve(Buffer.alloc(0))
  const { client, result } = await startProxy(t, (socket) => {
    serviceReceived = readAll(socket)
    socket.end(down)
  })

  client.end(up)
  const received = await readAll(client)

  assert.ok(received.equals(down))
  assert.ok((await serviceReceived).equals(up))
  const { bytesIn, bytesOut, error } = await result
  assert.deepEqual([bytesIn, bytesOut, error], [up.length, down.length, undefined])
})

test('a half-close passes and the other direction stays open', async (t) => {
  const { client } = await startProxy(t, (socket) => {
    void readAll(socket).then((bytes) => socket.end(`received ${bytes}`))
  })

  client.end('request')

  assert.equal(String(await readAll(client)), 'received request')
})

test('a reset on one side is an error on the other, never a clean end', async (t) => {
  const { client, result } = await startProxy(t, (socket) => {
    socket.once('data', () => {
      socket.write('partial')
      setTimeout(() => socket.resetAndDestroy(), 20)
    })
  })

  client.write('go')

  await assert.rejects(readAll(client), { code: 'ECONNRESET' })
  assert.notEqual((await result).error, undefined)
})

test('a client that vanishes resets the service', async (t) => {
  let broken: Promise<Buffer> = Promise.resolve(Buffer.alloc(0))
  const { client, result } = await startProxy(t, (socket) => {
    broken = readAll(socket)
    broken.catch(() => {})
    socket.write('hello')
  })

  await once(client, 'data')
  client.resetAndDestroy()
  await result

  await assert.rejects(broken, { code: 'ECONNRESET' })
})

test('a stalled reader buffers a bounded amount', async (t) => {
  let sent = 0
  const block = Buffer.alloc(64 * 1024)
  const { client, pipes } = await startProxy(t, (socket) => {
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
  assert.ok(pipes[0]!.waiting)
  assert.ok(pipes[0]!.pending <= 512 * 1024, `${pipes[0]!.pending} bytes buffered`)
})

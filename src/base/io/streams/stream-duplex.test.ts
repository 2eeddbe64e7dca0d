import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { SocketStream } from '../sockets/socket-stream.ts'
import { type ByteStream, silentSink } from './stream.ts'
import { StreamDuplex } from './stream-duplex.ts'

test('the adapter passes all bytes, with half-close', async (t) => {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('end', () => socket.end(Buffer.concat(chunks)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const payload = randomBytes(3_000_000)

  const duplex = new StreamDuplex(new SocketStream(connect({ port, host: '127.0.0.1', allowHalfOpen: true })))
  duplex.end(payload)
  const chunks: Buffer[] = []
  for await (const chunk of duplex) chunks.push(chunk as Buffer)

  assert.ok(Buffer.concat(chunks).equals(payload))
})

test('a reset is an error of the Node stream', async (t) => {
  const server = createServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo

  const duplex = new StreamDuplex(new SocketStream(connect({ port, host: '127.0.0.1' })))
  duplex.write('go')

  await assert.rejects(once(duplex, 'end'), { code: 'ECONNRESET' })
})

test('a stream whose two directions have ended is left to close by itself, not reset', async () => {
  const calls: string[] = []
  const stream: ByteStream = {
    sink: silentSink,
    write: () => true,
    end: () => void calls.push('end'),
    reset: () => void calls.push('reset'),
    consumed() {},
  }
  const duplex = new StreamDuplex(stream)

  duplex.resume()
  stream.sink.onEnd()
  duplex.end('last bytes')
  await once(duplex, 'close')

  assert.deepEqual(calls, ['end'])
})

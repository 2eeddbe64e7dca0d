import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../test/support/eventually.ts'
import { silentSink } from '../streams/stream.ts'
import { SocketStream } from './socket-stream.ts'

/** A stream to a peer that does not read yet. The tests write while it is still connecting. */
async function openStream(t: TestContext) {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect({ port: (server.address() as AddressInfo).port, allowHalfOpen: true })
  const accepted = once(server, 'connection').then(([peer]) => peer as Socket)
  t.after(async () => {
    socket.destroy()
    ;(await accepted).destroy()
    server.close()
  })
  return { stream: new SocketStream(socket), accepted }
}

test('small and large chunks arrive complete and in order, followed by the end', async (t) => {
  const { stream, accepted } = await openStream(t)
  const chunks = Array.from({ length: 3000 }, (_, index) => Buffer.from(`${index},`))
  chunks.splice(1000, 0, Buffer.alloc(100_000, 'x'))

  for (const chunk of chunks) stream.write(chunk)
  stream.end()
  const received: Buffer[] = []
  for await (const chunk of (await accepted) as AsyncIterable<Buffer>) received.push(chunk)

  assert.ok(Buffer.concat(received).equals(Buffer.concat(chunks)))
})

test('a writer of small chunks gets back-pressure and a drain', async (t) => {
  const { stream, accepted } = await openStream(t)
  let drains = 0
  stream.sink = { ...silentSink, onDrain: () => void drains++ }
  const chunk = Buffer.alloc(100, 'x')
  let sent = 0
  do sent += chunk.length
  while (stream.write(chunk))

  const peer = await accepted
  let received = 0
  peer.on('data', (bytes: Buffer) => {
    received += bytes.length
  })
  peer.resume()
  await eventually(() => drains > 0, 'there is room')

  await eventually(() => received === sent, 'everything has arrived')
})

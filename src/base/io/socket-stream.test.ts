import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { SocketStream } from './socket-stream.ts'
import { silentSink } from './stream.ts'

/** A stream to a peer that reads nothing yet; it is written to while it is still being connected. */
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

test('small and large pieces arrive in order and whole, and the end behind them', async (t) => {
  const { stream, accepted } = await openStream(t)
  const pieces = Array.from({ length: 3000 }, (_, index) => Buffer.from(`${index},`))
  pieces.splice(1000, 0, Buffer.alloc(100_000, 'x'))

  for (const piece of pieces) stream.write(piece)
  stream.end()
  const received: Buffer[] = []
  for await (const piece of (await accepted) as AsyncIterable<Buffer>) received.push(piece)

  assert.ok(Buffer.concat(received).equals(Buffer.concat(pieces)))
})

test('a writer of small pieces is asked to wait, and told when there is room', async (t) => {
  const { stream, accepted } = await openStream(t)
  let drains = 0
  stream.sink = { ...silentSink, onDrain: () => void drains++ }
  const piece = Buffer.alloc(100, 'x')
  let sent = 0
  do sent += piece.length
  while (stream.write(piece))

  const peer = await accepted
  let received = 0
  peer.on('data', (bytes: Buffer) => {
    received += bytes.length
  })
  peer.resume()
  await eventually(() => drains > 0, 'there is room')

  await eventually(() => received === sent, 'everything has arrived')
})

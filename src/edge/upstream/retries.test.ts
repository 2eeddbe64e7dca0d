import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'
const GET = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
const PUT = `PUT / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 10\r\n\r\n`

/** An upstream that answers GET and whole PUTs, and closes its first connection once a PUT on it ends with `fatal`. */
async function start(t: TestContext, fatal: string) {
  const puts: string[] = []
  const sockets: Socket[] = []
  const upstream = await startTcp(t, (socket) => {
    sockets.push(socket)
    let put: number | undefined
    socket.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1')
      if (text.startsWith('PUT')) put = puts.push('') - 1
      if (put === undefined) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      else {
        puts[put] += text
        if (put === 0 && puts[put]!.endsWith(fatal)) socket.destroy()
        else if (puts[put]!.endsWith('abcdefghij')) socket.write('HTTP/1.1 204 No Content\r\n\r\n')
      }
    })
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))
  const client = openRawClient(t, port)
  await client.write(GET).untilText('ok')
  assert.equal(sockets.length, 1)
  return { client, puts, sockets }
}

test('a request whose body has begun to leave is not sent again when its reused connection fails', async (t) => {
  const { client, puts, sockets } = await start(t, 'abc')
  const closed = once(sockets[0]!, 'close')

  client.write(`${PUT}abc`)
  await closed
  await client.write('defghij').untilText('HTTP/1.1 502')

  assert.equal(puts.length, 1, 'a second PUT would lack the bytes that left with the first')
  assert.ok(puts[0]!.endsWith('\r\n\r\nabc'))
})

test('a request whose reused connection fails before its body leaves is sent once more, complete', async (t) => {
  const { client, puts, sockets } = await start(t, '\r\n\r\n')
  const closed = once(sockets[0]!, 'close')

  client.write(PUT)
  await closed
  await client.write('abcdefghij').untilText('HTTP/1.1 204')

  assert.equal(puts.length, 2)
  assert.ok(puts[1]!.endsWith('\r\n\r\nabcdefghij'))
})

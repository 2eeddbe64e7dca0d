import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { HoldingListener } from './holding-listener.ts'

async function start(t: TestContext, options: { maxHeld?: number } = {}) {
  const listener = new HoldingListener(options)
  const { port } = await listener.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => listener.close())
  return {
    listener,
    port,
    async dial(text: string): Promise<Socket> {
      const client = connect({ port, host: '127.0.0.1' })
      t.after(() => client.destroy())
      client.on('error', () => {})
      await once(client, 'connect')
      client.write(text)
      return client
    },
  }
}

/** Responds with what it reads. */
function echo(socket: Socket): void {
  socket.pipe(socket)
}

async function read(client: Socket): Promise<string> {
  const [bytes] = await once(client, 'data')
  return String(bytes)
}

test('connections wait until they are served, and those that arrive later do not', async (t) => {
  const { listener, dial } = await start(t)
  const early = await dial('early')
  const answer = read(early)
  listener.serve(echo)

  assert.equal(await answer, 'early')
  assert.equal(await read(await dial('later')), 'later')
})

test('connections during a stop wait, and are closed with the listener', async (t) => {
  const { listener, dial } = await start(t)
  listener.serve(echo)
  listener.hold()
  const client = await dial('late')
  let answered = false
  client.once('data', () => {
    answered = true
  })
  const closed = new Promise((resolve) => client.once('close', resolve))
  listener.close()
  await closed

  assert.equal(answered, false)
})

test('no more connections wait than the limit says', async (t) => {
  const { listener, dial } = await start(t, { maxHeld: 2 })
  const clients = await Promise.all(['a', 'b', 'c'].map((text) => dial(text)))
  const closed = new Set<Socket>()
  for (const client of clients) client.once('close', () => closed.add(client)).resume()
  await eventually(() => closed.size === 1, 'one connection is closed')
  let served = 0
  listener.serve((socket) => {
    served += 1
    socket.destroy()
  })

  assert.equal(served, 2)
})

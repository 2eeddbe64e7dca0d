import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../test/support/eventually.ts'
import { HoldingListener } from './holding-listener.ts'

async function start(t: TestContext, options: { maxHeld?: number } = {}) {
  const listener = new HoldingListener(options)
  const { port } = await listener.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => listener.close())
  return {
    listener,
    port,
    async dial(text: string, localAddress = '127.0.0.1'): Promise<Socket> {
      const client = connect({ port, host: '127.0.0.1', localAddress })
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
  await listener.close()
  await closed

  assert.equal(answered, false)
})

test('connections that have not been accepted when the port closes are served', async (t) => {
  const { listener, port } = await start(t)
  listener.serve(echo)
  const clients = Array.from({ length: 50 }, () => connect(port, '127.0.0.1'))
  t.after(() => {
    for (const client of clients) client.destroy()
  })
  const answers = clients.map(read)
  for (const client of clients) client.write('served')

  await listener.close()

  assert.deepEqual(await Promise.all(answers), Array(50).fill('served'))
})

test('no more connections wait than the limit says, nor of one source than its share', async (t) => {
  const { listener, dial } = await start(t, { maxHeld: 5 })
  const clients = await Promise.all(
    [...Array(4).fill('127.0.0.1'), ...Array(3).fill('127.0.0.2')].map((source) => dial('', source)),
  )
  const closed = new Set<Socket>()
  for (const client of clients) client.once('close', () => closed.add(client)).resume()
  await eventually(() => closed.size === 3, 'three connections are closed')
  const served: (string | undefined)[] = []
  listener.serve((socket) => {
    served.push(socket.remoteAddress)
    socket.destroy()
  })

  assert.equal(served.length, 4)
  assert.ok(served.includes('127.0.0.2'))
  // Those that were served wait no longer.
  await eventually(() => closed.size === 7, 'all connections are closed')
  listener.hold()
  const later = await dial('later')
  const answer = read(later)
  listener.serve(echo)
  assert.equal(await answer, 'later')
})

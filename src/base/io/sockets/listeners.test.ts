import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Server } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Listeners, type Predecessor } from './listeners.ts'

const ANY = { host: '127.0.0.1', port: 0 }

/** A server that answers with a text. */
function createGreeter(t: TestContext, text: string): Server {
  const server = createServer((socket) => socket.end(text))
  t.after(() => server.close())
  return server
}

async function readGreeting(port: number, host = '127.0.0.1'): Promise<string> {
  const [bytes] = await once(connect(port, host), 'data')
  return String(bytes)
}

/** Listeners of this process, as a successor in the same process takes them over. */
function offer(listeners: Listeners): Predecessor {
  return {
    addressOf: async (key) => listeners.addressOf(key),
    take: async (key) => listeners.find(key),
  }
}

test('a successor has the address at once, and the connections once it takes over', async (t) => {
  const listeners = new Listeners()
  const { port } = await listeners.listen(createGreeter(t, 'former'), 'http', ANY)
  const successor = new Listeners(offer(listeners))

  const taken = await successor.listen(createGreeter(t, 'new'), 'http', ANY)
  assert.equal(taken.port, port)
  assert.equal(await readGreeting(port), 'former')
  await successor.takeOver()

  assert.equal(await readGreeting(port), 'new')
})

test('a successor that knows the port of a listener on any port takes it over by that', async (t) => {
  const listeners = new Listeners()
  const { port } = await listeners.listen(createGreeter(t, 'former'), 'http', ANY)
  const successor = new Listeners(offer(listeners))

  await successor.listen(createGreeter(t, 'new'), 'http', { ...ANY, port })
  await successor.takeOver()

  assert.equal(await readGreeting(port), 'new')
})

test('a listener that the predecessor does not have is opened', async (t) => {
  const listeners = new Listeners()
  const { port } = await listeners.listen(createGreeter(t, 'former'), 'http', ANY)
  const successor = new Listeners(offer(listeners))

  const { port: other } = await successor.listen(createGreeter(t, 'new'), 'https', ANY)

  assert.notEqual(other, port)
  assert.equal(await readGreeting(other), 'new')
})

test('a listener that was closed while it waited is not taken over', async (t) => {
  const listeners = new Listeners()
  const { port } = await listeners.listen(createGreeter(t, 'former'), 'tcp', ANY)
  const predecessor = offer(listeners)
  const takes: string[] = []
  const successor = new Listeners({
    ...predecessor,
    take: (key) => {
      takes.push(key)
      return predecessor.take(key)
    },
  })
  const server = createGreeter(t, 'new')
  await successor.listen(server, 'tcp', ANY)

  server.close()
  await once(server, 'close')
  await successor.takeOver()

  assert.deepEqual(takes, [])
  assert.equal(await readGreeting(port), 'former')
})

test('a predecessor that has handed over accepts nothing more', async (t) => {
  const listeners = new Listeners()
  const { port } = await listeners.listen(createGreeter(t, 'former'), 'http', ANY)

  listeners.handOver()

  assert.ok(listeners.isHandedOver)
  const [error] = await once(connect(port, '127.0.0.1'), 'error')
  assert.equal(error.code, 'ECONNREFUSED')
})

test('localhost is an address of both families, and a successor takes over both', async (t) => {
  const listeners = new Listeners()
  const { port, address } = await listeners.listen(createGreeter(t, 'former'), 'http', {
    host: 'localhost',
    port: 0,
  })
  const families = () => Promise.all(['127.0.0.1', '::1'].map((host) => readGreeting(port, host)))
  assert.equal(address, '127.0.0.1')
  assert.deepEqual(await families(), ['former', 'former'])

  const successor = new Listeners(offer(listeners))
  await successor.listen(createGreeter(t, 'new'), 'http', { host: 'localhost', port })
  await successor.takeOver()

  assert.deepEqual(await families(), ['new', 'new'])
})

test('a listener at localhost is closed at both addresses', async (t) => {
  const server = createGreeter(t, 'hello')
  const { port } = await new Listeners().listen(server, 'http', { host: 'localhost', port: 0 })

  server.close()

  for (const host of ['127.0.0.1', '::1']) await assert.rejects(readGreeting(port, host), /ECONNREFUSED/)
})

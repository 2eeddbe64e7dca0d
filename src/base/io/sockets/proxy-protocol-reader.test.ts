import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../test/support/eventually.ts'
import { type ProxyProtocolOptions, ProxyProtocolReader } from './proxy-protocol-reader.ts'
import type { SocketAddresses } from './socket-addresses.ts'

const HEADER = 'PROXY TCP4 192.0.2.7 203.0.113.1 8080 443\r\n'

/** A listener that records its clients with what they send. */
async function startListener(t: TestContext, options: Partial<ProxyProtocolOptions> = {}) {
  const warnings: { fields: object; message: string }[] = []
  const reader = new ProxyProtocolReader({
    listener: 'http',
    isTrusted: (ip) => ip === '127.0.0.1',
    maxPending: 2,
    log: { warn: (fields: object, message: string) => warnings.push({ fields, message }) } as never,
    ...options,
  })
  const clients: { addresses: SocketAddresses; text: string; ended: boolean }[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) =>
    reader.read(socket, (addresses) => {
      const client = { addresses, text: '', ended: false }
      clients.push(client)
      socket.on('data', (chunk) => {
        client.text += chunk
      })
      socket.on('end', () => {
        client.ended = true
        socket.end('bye')
      })
      socket.resume()
    }),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const dial = (localAddress = '127.0.0.1'): Socket => {
    const { port } = server.address() as AddressInfo
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
    socket.on('error', () => {})
    socket.resume()
    t.after(() => socket.destroy())
    return socket
  }
  return { reader, clients, warnings, dial }
}

const closed = (socket: Socket) => eventually(() => socket.closed, 'the end of the connection')

test('the client of a connection is the one its header names, and the bytes after it are its first', async (t) => {
  const { clients, dial } = await startListener(t)

  dial().end(`${HEADER}hello`)
  await eventually(() => clients[0]?.ended, 'the bytes of the client')

  assert.deepEqual(clients, [
    {
      addresses: {
        remoteAddress: '192.0.2.7',
        remotePort: 8080,
        localAddress: '203.0.113.1',
        localPort: 443,
      },
      text: 'hello',
      ended: true,
    },
  ])
})

test('a header that arrives byte by byte is read, and nothing of the client is lost', async (t) => {
  const { clients, dial } = await startListener(t)
  const socket = dial()
  await once(socket, 'connect')

  for (const byte of `${HEADER}PROXY `) {
    socket.write(byte)
    await new Promise(setImmediate)
  }
  socket.end()
  await eventually(() => clients[0]?.ended, 'the bytes of the client')

  assert.equal(clients[0]?.text, 'PROXY ')
  assert.equal(clients[0]?.addresses.remoteAddress, '192.0.2.7')
})

test('a connection of the proxy itself keeps its own addresses and is marked', async (t) => {
  const { clients, dial } = await startListener(t)
  const socket = dial()

  socket.end('PROXY UNKNOWN\r\n')
  await eventually(() => clients[0]?.ended, 'the end of the connection')

  assert.equal(clients[0]?.addresses.remoteAddress, '127.0.0.1')
  assert.equal(clients[0]?.addresses.isProxyItself, true)
})

test('a peer that is not a trusted proxy is rejected whatever it sends, and logged once', async (t) => {
  const { clients, warnings, dial } = await startListener(t)

  for (let n = 0; n < 3; n++) {
    const socket = dial('127.0.0.2')
    socket.write(HEADER)
    await closed(socket)
  }

  assert.deepEqual(clients, [])
  assert.deepEqual(warnings, [
    {
      fields: { listener: 'http', ip: '127.0.0.2' },
      message: 'connection refused: the peer is not a trusted proxy',
    },
  ])
})

test('a trusted proxy without a header is rejected, and so is one that ends or delays it', async (t) => {
  const { clients, warnings, dial } = await startListener(t, { timeoutMs: 50 })

  const [plain, half, slow] = [dial(), dial(), dial()]
  plain.write('GET / HTTP/1.1\r\n\r\n')
  await closed(plain)
  half.end('PROXY TCP4 192')
  await closed(half)
  slow.write('PROXY ')
  await closed(slow)

  assert.deepEqual(clients, [])
  assert.deepEqual(
    warnings.map(({ message }) => message),
    ['connection refused: no valid PROXY protocol header'],
  )
})

test('connections that wait for their header are limited, and closing the reader ends them', async (t) => {
  const { reader, clients, dial } = await startListener(t, { timeoutMs: 60_000 })
  const waiting = [dial(), dial()]
  for (const socket of waiting) await once(socket, 'connect')

  await closed(dial())
  assert.ok(waiting.every((socket) => !socket.closed))
  reader.close()
  for (const socket of waiting) await closed(socket)

  dial().write(`${HEADER}hello`)
  await eventually(() => clients[0]?.text === 'hello', 'the next client')
})

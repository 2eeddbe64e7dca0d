import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect, createServer, TLSSocket } from 'node:tls'
import { createTestCa } from '../../../test/support/test-ca.ts'
import { startRoute, startService, type Visitor, visit } from './testing.ts'

const ca = await createTestCa()
const local = await ca.issue('localhost', '127.0.0.1')

async function startTlsService(t: TestContext, handle: (socket: TLSSocket) => void): Promise<number> {
  const server = createServer(
    { ...local, allowHalfOpen: true, ALPNProtocols: ['h2', 'http/1.1'] },
    (socket) => {
      socket.on('error', () => {})
      t.after(() => socket.destroy())
      handle(socket)
    },
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as { port: number }).port
}

/** The visitor's side of TLS over a stream in memory. */
function tlsOver(visitor: Visitor, options: ConnectionOptions): TLSSocket {
  let sent = 0
  const wire = new Duplex({
    read() {},
    write(chunk, _encoding, callback) {
      visitor.send(chunk)
      callback()
    },
    final(callback) {
      visitor.end()
      callback()
    },
  })
  const pump = () => {
    if (visitor.received.length > sent) wire.push(visitor.received.subarray(sent))
    sent = visitor.received.length
    if (visitor.ended || visitor.closed) wire.push(null)
    else
      void visitor
        .until(() => visitor.received.length > sent || visitor.ended || visitor.closed)
        .then(pump, () => {})
  }
  pump()
  wire.on('close', () => {
    visitor.abort()
  })
  const socket = connect({ socket: wire, servername: 'localhost', ca: ca.caPem, ...options })
  socket.on('error', () => {})
  return socket
}

test('TLS is spoken to an https upstream, which is not verified unless asked for', async (t) => {
  const alpn: unknown[] = []
  const port = await startTlsService(t, (socket) => {
    alpn.push(socket.alpnProtocol)
    socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecure'))
  })
  const { route, captures } = startRoute({ proto: 'http', addr: `https://localhost:${port}` })

  const visitor = visit(route)
  visitor.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await visitor.until(() => visitor.ended)

  assert.match(visitor.text, /secure$/)
  assert.deepEqual(alpn, ['http/1.1'])
  assert.equal(captures.size, 1)
  visitor.end()
})

test('a verified upstream needs a certificate of the authority named', async (t) => {
  const port = await startTlsService(t, (socket) =>
    socket.on('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n')),
  )
  const ask = async (definition: object) => {
    const { route } = startRoute({ proto: 'http', addr: `https://localhost:${port}`, ...definition })
    const visitor = visit(route)
    visitor.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await visitor.until(() => visitor.ended)
    visitor.end()
    return visitor.text
  }

  assert.match(await ask({ upstream_tls_verify: true }), /^HTTP\/1\.1 502 .*certificate/s)
  assert.match(await ask({ upstream_tls_verify_cas: ca.caPem }), /^HTTP\/1\.1 204/)
})

test('a PROXY header goes ahead of the TLS handshake with the upstream', async (t) => {
  const got: string[] = []
  const port = await startService(t, (socket) => {
    socket.once('readable', () => {
      const first: Buffer = socket.read()
      const end = first.indexOf('\r\n') + 2
      got.push(first.subarray(0, end).toString())
      if (end < first.length) socket.unshift(first.subarray(end))
      const secure = new TLSSocket(socket, { isServer: true, ...local })
      secure.on('error', () => {})
      secure.on('data', (chunk) => {
        got.push(chunk.toString())
        secure.end('answer')
      })
    })
  })
  const { route } = startRoute({ proto: 'tcp', addr: `tls://localhost:${port}`, proxy_proto: '1' })

  const visitor = visit(route, 'tcp')
  visitor.send('PROXY TCP4 203.0.113.9 198.51.100.1 5000 443\r\nhello')
  await visitor.until(() => visitor.ended)

  assert.deepEqual(got, ['PROXY TCP4 203.0.113.9 198.51.100.1 5000 443\r\n', 'hello'])
  assert.equal(visitor.text, 'answer')
  visitor.end()
})

test('TLS that ends in the agent reaches the upstream in clear', async (t) => {
  const port = await startService(t, (socket) => socket.pipe(socket))
  const { route } = startRoute({ proto: 'tls', addr: String(port), crt: local.cert, key: local.key })
  const visitor = visit(route, 'tls', true)
  const client = tlsOver(visitor, {})
  await once(client, 'secureConnect')

  let got = ''
  client.on('data', (chunk) => {
    got += chunk
  })
  client.end('x'.repeat(300_000))
  await once(client, 'end')

  assert.equal(got.length, 300_000)
  assert.equal(client.authorized, true)
})

test('with authorities given, only visitors with their certificates pass', async (t) => {
  const connections: string[] = []
  const port = await startService(t, (socket) => {
    socket.on('data', (chunk) => {
      connections.push(chunk.toString())
      socket.write('welcome')
    })
  })
  const client = await ca.issue('someone')
  const definition = {
    proto: 'tls',
    addr: String(port),
    crt: local.cert,
    key: local.key,
    mutual_tls_cas: ca.caPem,
  }

  const known = tlsOver(visit(startRoute(definition).route, 'tls', true), client)
  known.write('known')
  const [answer] = await once(known, 'data')

  const stranger = visit(startRoute(definition).route, 'tls', true)
  tlsOver(stranger, {}).write('stranger')
  await stranger.until(() => stranger.closed)

  assert.equal(String(answer), 'welcome')
  assert.deepEqual(connections, ['known'])
  assert.ok(stranger.error)
  known.destroy()
})

test('TLS passes through untouched when nobody ends it here', async (t) => {
  const port = await startTlsService(t, (socket) => socket.end('from the upstream'))
  const { route } = startRoute({ proto: 'tls', addr: String(port) })
  const visitor = visit(route, 'tls', true)

  const client = tlsOver(visitor, {})
  const [data] = await once(client, 'data')

  assert.equal(String(data), 'from the upstream')
  client.destroy()
})

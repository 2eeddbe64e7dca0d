import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect, createServer, TLSSocket } from 'node:tls'
import { listen, startHttp, startTcp } from '../../../test/support/local-server.ts'
import { createTestCa } from '../../../test/support/test-ca.ts'
import { createTestRoute, openTestClient, type TestClient } from '../testing/route.ts'

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
  )
  return listen(t, server)
}

/** The client's side of TLS over a stream in memory. */
function connectTls(client: TestClient, options: ConnectionOptions): TLSSocket {
  let forwardedBytes = 0
  const wire = new Duplex({
    read() {},
    write(chunk, _encoding, callback) {
      client.send(chunk)
      callback()
    },
    final(callback) {
      client.end()
      callback()
    },
  })
  const pump = () => {
    const bytes = client.received.subarray(forwardedBytes)
    // Counted first: a push can make the agent send more before it returns.
    forwardedBytes += bytes.length
    if (bytes.length > 0) wire.push(bytes)
    if (client.ended || client.closed) wire.push(null)
    else
      void client
        .until(() => client.received.length > forwardedBytes || client.ended || client.closed)
        .then(pump, () => {})
  }
  pump()
  wire.on('close', () => {
    client.abort()
  })
  const socket = connect({ socket: wire, servername: 'localhost', ca: ca.caPem, ...options })
  socket.on('error', () => {})
  return socket
}

test('an https upstream is dialled with TLS, unverified by default', async (t) => {
  const alpn: unknown[] = []
  const port = await startTlsService(t, (socket) => {
    alpn.push(socket.alpnProtocol)
    socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecure'))
  })
  const { route, captures } = createTestRoute({ proto: 'http', addr: `https://localhost:${port}` })

  const client = openTestClient(route)
  client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await client.until(() => client.ended)

  assert.match(client.text, /secure$/)
  assert.deepEqual(alpn, ['http/1.1'])
  assert.equal(captures.size, 1)
  client.end()
})

test('a verified upstream needs a certificate of the configured authority', async (t) => {
  const port = await startTlsService(t, (socket) =>
    socket.on('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n')),
  )
  const request = async (definition: object) => {
    const { route } = createTestRoute({ proto: 'http', addr: `https://localhost:${port}`, ...definition })
    const client = openTestClient(route)
    client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await client.until(() => client.ended)
    client.end()
    return client.text
  }

  assert.match(
    await request({ upstream_tls_verify: true }),
    /^HTTP\/1\.1 502 .*\r\nAdit-Dial-Failure: certificate_untrusted\r\n.*its certificate is not trusted/s,
  )
  assert.match(await request({ upstream_tls_verify_cas: ca.caPem }), /^HTTP\/1\.1 204/)
})

test('what went wrong with TLS is named, with what to type', async (t) => {
  const earlier = await createTestCa({ now: Date.now() - 30 * 86_400_000 })
  const expired = await earlier.issue('localhost')
  const other = await ca.issue('other.example')
  const services = {
    plain: await startHttp(t, (_request, response) => response.end('plain')),
    resetting: await startTcp(t, (socket) => socket.once('data', () => socket.resetAndDestroy())),
    expired: await listen(t, createServer(expired)),
    other: await listen(t, createServer(other)),
    demanding: await listen(
      t,
      createServer({ ...local, minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-SHA' }),
    ),
  }
  const request = async (port: number, definition: object = {}) => {
    const { route } = createTestRoute({ proto: 'http', addr: `https://localhost:${port}`, ...definition })
    const client = openTestClient(route)
    client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await client.until(() => client.ended)
    client.end()
    return `${/Adit-Dial-Failure: (\S+)/.exec(client.text)?.[1]} ${client.text.split('\r\n\r\n')[1]}`
  }

  assert.match(await request(services.plain), /^not_tls .*does not speak TLS\. Begin its address with `http:/)
  assert.match(
    await request(services.resetting),
    /^reset .*closed the connection\. If the service does not use TLS/,
  )
  assert.match(
    await request(services.expired, { upstream_tls_verify: true }),
    /^certificate_(expired|untrusted) /,
  )
  assert.match(await request(services.other, { upstream_tls_verify_cas: ca.caPem }), /^certificate_name /)
  assert.match(await request(services.demanding), /^tls .*the TLS handshake failed\./)
})

test('a PROXY header precedes the TLS handshake with the upstream', async (t) => {
  const received: string[] = []
  const port = await startTcp(t, (socket) => {
    socket.once('readable', () => {
      const first: Buffer = socket.read()
      const end = first.indexOf('\r\n') + 2
      received.push(first.subarray(0, end).toString())
      if (end < first.length) socket.unshift(first.subarray(end))
      const secure = new TLSSocket(socket, { isServer: true, ...local })
      secure.on('error', () => {})
      secure.on('data', (chunk) => {
        received.push(chunk.toString())
        secure.end('response')
      })
    })
  })
  const { route } = createTestRoute({ proto: 'tcp', addr: `tls://localhost:${port}`, proxy_proto: '1' })

  const client = openTestClient(route, 'tcp')
  client.send('PROXY TCP4 203.0.113.9 198.51.100.1 5000 443\r\nhello')
  await client.until(() => client.ended)

  assert.deepEqual(received, ['PROXY TCP4 203.0.113.9 198.51.100.1 5000 443\r\n', 'hello'])
  assert.equal(client.text, 'response')
  client.end()
})

test('TLS terminated in the agent reaches the upstream in clear text', async (t) => {
  const port = await startTcp(t, (socket) => socket.pipe(socket))
  const { route } = createTestRoute({ proto: 'tls', addr: String(port), crt: local.cert, key: local.key })
  const client = openTestClient(route, 'tls', true)
  const tlsClient = connectTls(client, {})
  await once(tlsClient, 'secureConnect')

  let received = ''
  tlsClient.on('data', (chunk) => {
    received += chunk
  })
  tlsClient.end('x'.repeat(300_000))
  await once(tlsClient, 'end')

  assert.equal(received.length, 300_000)
  assert.equal(tlsClient.authorized, true)
})

test('with client authorities configured, only clients with their certificates pass', async (t) => {
  const connections: string[] = []
  const port = await startTcp(t, (socket) => {
    socket.on('data', (chunk) => {
      connections.push(chunk.toString())
      socket.write('welcome')
    })
  })
  const clientCertificate = await ca.issue('client')
  const definition = {
    proto: 'tls',
    addr: String(port),
    crt: local.cert,
    key: local.key,
    mutual_tls_cas: ca.caPem,
  }

  const trusted = connectTls(
    openTestClient(createTestRoute(definition).route, 'tls', true),
    clientCertificate,
  )
  trusted.write('trusted')
  const [response] = await once(trusted, 'data')

  const untrusted = openTestClient(createTestRoute(definition).route, 'tls', true)
  connectTls(untrusted, {}).write('untrusted')
  await untrusted.until(() => untrusted.closed)

  assert.equal(String(response), 'welcome')
  assert.deepEqual(connections, ['trusted'])
  assert.ok(untrusted.error)
  trusted.destroy()
})

test('TLS passes through when the agent does not terminate it', async (t) => {
  const port = await startTlsService(t, (socket) => socket.end('from the upstream'))
  const { route } = createTestRoute({ proto: 'tls', addr: String(port) })
  const client = openTestClient(route, 'tls', true)

  const tlsClient = connectTls(client, {})
  const [data] = await once(tlsClient, 'data')

  assert.equal(String(data), 'from the upstream')
  tlsClient.destroy()
})

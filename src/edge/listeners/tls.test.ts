import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient, RawClient } from '../../../test/support/raw-client.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

function tlsClient(t: TestContext, port: number, servername: string, ca: string, options = {}): RawClient {
  const socket: TLSSocket = connectTls({
    port,
    host: '127.0.0.1',
    servername,
    ca,
    ALPNProtocols: ['http/1.1'],
    ...options,
  })
  t.after(() => socket.destroy())
  return new RawClient(socket)
}

test('https reaches the upstream over HTTP/1 and HTTP/2', async (t) => {
  const upstream = await startHttp(t, (request, response) =>
    response.end(`${request.url} ${request.headers['x-forwarded-proto']} ${request.headers.host}`),
  )
  const certificates = await createTestCertificates('adit.localhost')
  const tunnels = new TestTunnels().add(HOST, createLocalTunnel(upstream, { proto: 'https' }))
  const { tlsPort } = await startEdge(t, tunnels, {}, { certificates: certificates.lookup })

  const client = tlsClient(t, tlsPort, HOST, certificates.ca)
  client.write(`GET /one HTTP/1.1\r\nHost: ${HOST}:${tlsPort}\r\n\r\n`)
  await client.untilText(`/one https ${HOST}:${tlsPort}`)
  const session = connectHttp2(`https://${HOST}:${tlsPort}`, {
    ca: certificates.ca,
    host: '127.0.0.1',
    servername: HOST,
  })
  t.after(() => session.destroy())
  const stream = session.request({ ':path': '/two' })
  stream.setEncoding('utf8')
  let body = ''
  for await (const chunk of stream) body += chunk

  assert.equal(body, `/two https ${HOST}:${tlsPort}`)
})

test('a client that offers HTTP/1.0 alone is served', async (t) => {
  const upstream = await startHttp(t, (_request, response) => response.end('served'))
  const certificates = await createTestCertificates('adit.localhost')
  const tunnels = new TestTunnels().add(HOST, createLocalTunnel(upstream, { proto: 'https' }))
  const { tlsPort } = await startEdge(t, tunnels, {}, { certificates: certificates.lookup })

  const client = tlsClient(t, tlsPort, HOST, certificates.ca, { ALPNProtocols: ['http/1.0'] })
  client.write(`GET / HTTP/1.0\r\nHost: ${HOST}\r\n\r\n`)
  await client.untilText('served')

  assert.equal((client.socket as TLSSocket).alpnProtocol, 'http/1.0')
})

test('a name without an endpoint gets an error page when it has a certificate, and an alert otherwise', async (t) => {
  const certificates = await createTestCertificates('adit.localhost')
  const { tlsPort } = await startEdge(t, new TestTunnels(), {}, { certificates: certificates.lookup })

  const certified = tlsClient(t, tlsPort, 'nobody.adit.localhost', certificates.ca)
  certified.write('GET / HTTP/1.1\r\nHost: nobody.adit.localhost\r\n\r\n')
  await certified.untilText('Tunnel nobody.adit.localhost not found')
  const foreign = tlsClient(t, tlsPort, 'shop.example', certificates.ca)
  await foreign.untilClosed()

  assert.match(String(foreign.error), /unrecognized name/)
})

test('a TLS tunnel without termination gets the client’s bytes unchanged', async (t) => {
  const certificates = await createTestCertificates('adit.localhost')
  const certificate = await certificates.issue('pass.example')
  const server = createTlsServer(
    { cert: certificate.certificatePem, key: certificate.privateKeyPem.reveal() },
    (socket) => socket.end(`mine ${(socket as unknown as { servername: string }).servername}`),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const tunnel = createLocalTunnel((server.address() as AddressInfo).port, { proto: 'tls' })
  const { tlsPort } = await startEdge(t, new TestTunnels().add('pass.example', tunnel))

  const client = await tlsClient(t, tlsPort, 'pass.example', certificates.ca).untilClosed()

  assert.equal(client.text, 'mine pass.example')
  assert.equal(tunnel.clients[0]?.passthroughTls, true)
})

test('a TLS tunnel with termination gets plain bytes, with its own certificate if it has one', async (t) => {
  const certificates = await createTestCertificates('adit.localhost')
  const certificate = await certificates.issue('own.example')
  const upstream = await startTcp(t, (socket) => socket.pipe(socket))
  const tunnels = new TestTunnels()
    .add(HOST, createLocalTunnel(upstream, { proto: 'tls', options: { tlsTermination: {} } }))
    .add(
      'own.example',
      createLocalTunnel(upstream, {
        proto: 'tls',
        options: {
          tlsTermination: { certPem: certificate.certificatePem, keyPem: certificate.privateKeyPem.reveal() },
        },
      }),
    )
  const { tlsPort } = await startEdge(t, tunnels, {}, { certificates: certificates.lookup })

  for (const name of [HOST, 'own.example']) {
    const client = tlsClient(t, tlsPort, name, certificates.ca, { ALPNProtocols: undefined }).write('hello')
    await client.untilText('hello')
    client.socket.end()
    await client.untilClosed()
  }
})

test('connections with garbage or without bytes on the TLS port are closed', async (t) => {
  const { tlsPort } = await startEdge(t, new TestTunnels(), { limits: { handshake: 200, drain: 50 } })

  const garbage = openRawClient(t, tlsPort).write('GET / HTTP/1.1\r\n\r\n')
  const silent = openRawClient(t, tlsPort)

  await garbage.untilClosed()
  await silent.untilClosed()
})

test('HTTP without TLS is answered with the address to open', async (t) => {
  const { tlsPort } = await startEdge(t, new TestTunnels())

  const response = await fetch(`http://127.0.0.1:${tlsPort}/`)

  assert.equal(response.status, 400)
  assert.match(await response.text(), /https:\/\/ instead of http:\/\//)
})

test('a truncated response is an error over TLS too', async (t) => {
  const certificates = await createTestCertificates('adit.localhost')
  const upstream = await startTcp(t, (socket) => {
    socket.once('data', () =>
      socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'),
    )
  })
  const tunnels = new TestTunnels().add(HOST, createLocalTunnel(upstream, { proto: 'https' }))
  const { tlsPort } = await startEdge(t, tunnels, {}, { certificates: certificates.lookup })

  for (const version of ['1.0', '1.1']) {
    const client = tlsClient(t, tlsPort, HOST, certificates.ca)
    client.write(`GET / HTTP/${version}\r\nHost: ${HOST}\r\n\r\n`)
    await client.until(({ closed }) => closed)

    assert.equal(client.error?.code, 'ECONNRESET')
    assert.equal(client.ended, false)
  }
})

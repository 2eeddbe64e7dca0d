import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

test('the upstream gets the forwarding fields of the edge alone, and no hop-by-hop fields', async (t) => {
  let received = ''
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      received = chunk.toString('latin1')
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    })
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))
  const forged = [
    'Connection: X-Hop, X-Forwarded-For, Authorization-Hop',
    'X-Hop: 1',
    'Authorization-Hop: 1',
    'X-Forwarded-For: 6.6.6.6',
    'X-FORWARDED-PROTO: https',
    'x_forwarded_host: evil.example',
    'Forwarded: for=6.6.6.6',
    'Adit-Auth-User-Email: root@example',
    'ngrok-mtls-subject-cn: root',
    'Keep-Alive: timeout=9',
    'Proxy-Authorization: Basic eA==',
    'TE: trailers, gzip',
    'Trailer: X',
  ]

  const client = openRawClient(t, port).write(
    `GET /p HTTP/1.1\r\nAccept: */*\r\nHost: APP.adit.localhost:81\r\n${forged.join('\r\n')}\r\nCookie: a=b\r\n\r\n`,
  )
  await client.untilText('204 No Content')

  assert.equal(
    received,
    `GET /p HTTP/1.1\r\nHost: ${HOST}:81\r\nAccept: */*\r\nCookie: a=b\r\nTE: trailers\r\n` +
      `X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: ${HOST}:81\r\n\r\n`,
  )
})

test('the client gets no hop-by-hop fields of the upstream, but the names of its trailers', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', () =>
      socket.write(
        'HTTP/1.1 200 Fine\r\nConnection: keep-alive, X-Inner\r\nKeep-Alive: timeout=5\r\nX-Inner: 1\r\n' +
          'Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nTrailer: X\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n' +
          'Content-Length: 2\r\nX-Outer: \xe9\r\n\r\nok',
      ),
    )
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const client = await openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`).untilText('ok')

  assert.equal(
    client.text.replace('Ã©', 'é'),
    'HTTP/1.1 200 Fine\r\nTrailer: X\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX-Outer: é\r\nContent-Length: 2\r\n\r\nok',
  )
})

test('the stream is opened with the client’s address', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n'))
  })
  const tunnel = createLocalTunnel(upstream)
  const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel))

  const client = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await client.untilText('204')

  assert.deepEqual(tunnel.clients, [
    {
      clientAddress: `127.0.0.1:${client.socket.localPort}`,
      serverAddress: `127.0.0.1:${port}`,
      proto: 'http',
      via: 'endpoint',
      passthroughTls: false,
    },
  ])
})

test('an endpoint with the PROXY protocol shares no connection between clients', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n'))
  })
  const tunnel = createLocalTunnel(upstream, { options: { proxyProto: 1 } })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel))

  for (let n = 0; n < 2; n++) {
    await openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`).untilText('204')
  }

  assert.equal(tunnel.clients.length, 2)
})

test('plain HTTP to a host that only serves https is redirected', async (t) => {
  const tunnels = new TestTunnels().add(HOST, createLocalTunnel(1, { proto: 'https' }))
  const { port, tlsPort } = await startEdge(t, tunnels)

  const client = openRawClient(t, port).write(`GET /a?b HTTP/1.1\r\nHost: ${HOST}:${port}\r\n\r\n`)
  await client.untilText('\r\n\r\n')

  assert.match(client.text, /^HTTP\/1\.1 307 /)
  assert.ok(client.text.includes(`Location: https://${HOST}:${tlsPort}/a?b\r\n`))
})

test('a denied address gets a 403 with its code and nothing reaches the upstream', async (t) => {
  const tunnel = createLocalTunnel(1, { options: { ipRestriction: { allow: ['10.0.0.0/8'], deny: [] } } })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel))

  const client = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await client.untilText('ERR_ADIT_3203\n')

  assert.match(client.text, /^HTTP\/1\.1 403 /)
  assert.equal(tunnel.clients.length, 0)
})

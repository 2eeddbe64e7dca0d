import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { eventually } from '../../../test/support/eventually.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient, RawClient } from '../../../test/support/raw-client.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { shortLimits, startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

/** Writes the text one byte at a time, ten a second. */
function drip(client: RawClient, text: string): NodeJS.Timeout {
  let offset = 0
  return setInterval(() => {
    if (!client.socket.destroyed && offset < text.length) client.write(text[offset++]!)
  }, 100)
}

test('a head that trickles in is rejected at the head timeout, with and without TLS', async (t) => {
  const certificates = await createTestCertificates('adit.localhost')
  const tunnels = new TestTunnels()
    .add(HOST, createLocalTunnel(1))
    .add(HOST, createLocalTunnel(1, { proto: 'https' }))
  const { port, tlsPort } = await startEdge(
    t,
    tunnels,
    { limits: shortLimits },
    { certificates: certificates.lookup },
  )
  const secure = connectTls({ port: tlsPort, host: '127.0.0.1', servername: HOST, ca: certificates.ca })
  t.after(() => secure.destroy())

  const clients = [openRawClient(t, port), new RawClient(secure)]
  for (const client of clients) {
    const timer = drip(client, `GET / HTTP/1.1\r\nHost: ${HOST}\r\nX: ${'a'.repeat(1000)}`)
    t.after(() => clearInterval(timer))
  }
  for (const client of clients) {
    await client.untilClosed()
    assert.match(client.text, /^HTTP\/1\.1 408 /)
  }
})

test('2,000 heads that trickle in at once are all cut at the head timeout, and another client is served (P19)', async (t) => {
  const upstream = await startHttp(t, (_request, response) => response.end('served'))
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)), {
    limits: shortLimits,
    maxConnections: 4000,
  })
  // One address may hold as many connections as are free, so several do.
  const clients = Array.from({ length: 2000 }, (_, index) =>
    openRawClient(t, port, `127.0.1.${1 + (index % 8)}`),
  )
  for (const client of clients) client.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\nX: `)
  const timer = setInterval(() => {
    for (const client of clients) if (client.text === '') client.write('a')
  }, 100)
  t.after(() => clearInterval(timer))

  const other = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await other.untilText('served')
  for (const client of clients) {
    await client.untilClosed()
    // A byte that it sends after the response can reset the connection before the response is read.
    assert.ok(/^HTTP\/1\.1 408 /.test(client.text) || client.error?.code === 'ECONNRESET', client.text)
  }
})

test('a silent connection and one idle after a request are closed', async (t) => {
  const upstream = await startHttp(t, (_request, response) => response.end('ok'))
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)), {
    limits: shortLimits,
  })

  const silent = openRawClient(t, port)
  const idle = await openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`).untilText('ok')
  await silent.untilClosed()
  await idle.untilClosed()

  assert.equal(silent.text, '')
})

test('a body that stops arriving and an upstream that does not respond time out with an error', async (t) => {
  const upstream = await startTcp(t, () => {})
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)), {
    limits: shortLimits,
  })

  const body = openRawClient(t, port).write(
    `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 9\r\n\r\nabc`,
  )
  const silence = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)

  await body.untilText('ERR_ADIT_3109')
  await silence.untilText('ERR_ADIT_8014')
})

test('a client that stops reading is disconnected, a slow reader is not', async (t) => {
  const size = 2 * 1024 * 1024
  let disconnected = false
  const upstream = await startHttp(t, (request, response) => {
    const huge = request.url === '/huge'
    response.on('close', () => {
      if (huge && !response.writableFinished) disconnected = true
    })
    response.end(Buffer.alloc(huge ? 32 * size : size, 'x'))
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)), {
    limits: { ...shortLimits, progress: 400, response: 0, idle: 400 },
  })
  const ask = (path: string) => openRawClient(t, port).write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)

  ask('/huge').socket.pause()
  const slow = ask('/')
  const timer = setInterval(() => {
    slow.socket.resume()
    setTimeout(() => slow.socket.pause(), 2)
  }, 20)
  t.after(() => clearInterval(timer))

  await slow.until(({ received }) => received.length > size, 'the complete response')
  await eventually(() => disconnected, 'the client that reads nothing is disconnected')
})

test('the head limit holds to the byte on the wire', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n'))
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))
  const head = (size: number) => {
    const start = `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\nX: `
    return `${start}${'a'.repeat(size - start.length - 4)}\r\n\r\n`
  }

  const fits = await openRawClient(t, port).write(head(16_384)).untilClosed()
  const oversized = await openRawClient(t, port).write(head(16_385)).untilClosed()
  const endless = await openRawClient(t, port).write(head(70_000).slice(0, -4)).untilClosed()
  const target = await openRawClient(t, port)
    .write(`GET /${'a'.repeat(20_000)}`)
    .untilClosed()

  assert.match(fits.text, /^HTTP\/1\.1 204 /)
  assert.match(oversized.text, /^HTTP\/1\.1 431 /)
  assert.match(endless.text, /^HTTP\/1\.1 431 /)
  assert.match(target.text, /^HTTP\/1\.1 414 /)
})

test('one client address cannot hold all connections of a listener', async (t) => {
  const upstream = await startHttp(t, (_request, response) => response.end('served'))
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)), {
    maxConnections: 4,
  })
  const partialHead = 'GET / HT'
  const held = [openRawClient(t, port).write(partialHead), openRawClient(t, port).write(partialHead)]

  await openRawClient(t, port).write(partialHead).untilClosed()
  const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
  t.after(() => other.destroy())
  other.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  assert.match(String((await once(other, 'data'))[0]), /served/)

  // Its slot is free as soon as the edge has seen the close.
  held[0]!.socket.destroy()
  let next: RawClient
  do {
    next = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
    await next.untilClosed()
  } while (!next.text.includes('served'))
})

test('a request in flight when the edge stops is answered, as the last of its connection', async (t) => {
  const upstream = await startHttp(t, (request, response) => response.end(`response to ${request.url}`))
  const { port, edge } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)), {
    limits: { ...shortLimits, drainIdle: 5_000 },
  })
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
  const client = await openRawClient(t, port).write(request('/1')).untilText('response to /1')

  const stopped = edge.stop()
  await client.write(request('/2')).untilClosed()
  await stopped

  assert.match(client.text, /Connection: close\r\n[\s\S]*response to \/2$/)
})

test('on a stop, requests in flight finish, idle connections close and new ones are refused', async (t) => {
  let respond = () => {}
  const upstream = await startHttp(t, (request, response) => {
    if (request.url === '/slow') respond = () => response.end('finished')
    else response.end('quick')
  })
  const tunnel = createLocalTunnel(upstream)
  const { port, edge } = await startEdge(t, new TestTunnels().add(HOST, tunnel), { limits: shortLimits })
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
  const idle = await openRawClient(t, port).write(request('/')).untilText('quick')
  const busy = openRawClient(t, port).write(request('/slow'))
  await eventually(() => tunnel.clients.length > 0 && respond.length === 0, 'the upstream is connected')
  await eventually(() => String(respond).includes('finished'), 'the slow request is in flight')

  const stopped = edge.stop()
  await idle.untilClosed()
  const refused = openRawClient(t, port)
  await refused.untilClosed()
  respond()
  await busy.untilClosed()
  await stopped

  assert.equal(refused.error?.code, 'ECONNREFUSED')
  assert.match(busy.text, /Connection: close\r\n[\s\S]*finished$/)
})

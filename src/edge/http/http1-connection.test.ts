import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { eventually } from '../../../test/support/eventually.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { shortLimits, startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

test('a request reaches the upstream of the tunnel of its host', async (t) => {
  const upstream = await startHttp(t, (request, response) => response.end(`hello ${request.url}`))
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const client = openRawClient(t, port).write(`GET /a?b=c HTTP/1.1\r\nHost: ${HOST}:8080\r\n\r\n`)

  await client.untilText('hello /a?b=c')
  assert.match(client.text, /^HTTP\/1\.1 200 OK\r\n/)
})

test('an unknown host gets an error in the form the client accepts', async (t) => {
  const { port } = await startEdge(t)
  const ask = (accept: string) =>
    openRawClient(t, port)
      .write(`GET / HTTP/1.1\r\nHost: no.example\r\nAccept: ${accept}\r\nConnection: close\r\n\r\n`)
      .untilClosed()

  const page = await ask('text/html,*/*')
  const json = await ask('application/json')
  const plain = await ask('*/*')

  for (const { text } of [page, json, plain]) {
    assert.match(text, /^HTTP\/1\.1 404 Not Found\r\n/)
    assert.match(text, /\r\nadit-error-code: ERR_ADIT_3200\r\n/)
    assert.match(text, /Tunnel no\.example not found/)
  }
  assert.match(page.text, /Content-Security-Policy: default-src 'none'/)
  assert.equal(JSON.parse(json.text.split('\r\n\r\n')[1]!).error_code, 'ERR_ADIT_3200')
})

test('a TLS handshake on the plain port is answered at once with 400', async (t) => {
  const { port } = await startEdge(t)
  const handshake = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })

  const [error] = await once(handshake, 'error')
  const client = await openRawClient(t, port)
    .write(Buffer.from([22, 3, 1]))
    .untilClosed()

  assert.equal((error as NodeJS.ErrnoException).code, 'ERR_SSL_WRONG_VERSION_NUMBER')
  assert.match(client.text, /^HTTP\/1\.1 400 Bad Request\r\n/)
  assert.match(client.text, /it begins with a TLS handshake, but this port speaks HTTP without TLS/)
})

test('requests of one connection and of several share pooled upstream connections', async (t) => {
  const upstream = await startHttp(t, (_request, response) => response.end('x'))
  const tunnel = createLocalTunnel(upstream)
  const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel))
  const request = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`

  for (let connection = 0; connection < 3; connection++) {
    const client = openRawClient(t, port)
    for (let n = 1; n <= 3; n++) {
      client.write(request)
      await client.until(({ text }) => text.split('HTTP/1.1 200').length === n + 1)
    }
  }

  assert.equal(tunnel.clients.length, 1)
})

test('pipelined requests are answered in order', async (t) => {
  const upstream = await startHttp(t, (request, response) => {
    setTimeout(() => response.end(`<${request.url}>`), request.url === '/1' ? 50 : 0)
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const client = openRawClient(t, port)
  client.write([1, 2, 3, 4].map((n) => `GET /${n} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`).join(''))

  await client.untilText('</4>')
  assert.deepEqual(client.text.match(/<\/\d>/g), ['</1>', '</2>', '</3>', '</4>'])
})

test('bodies are forwarded in both directions, by length and in chunks, with trailers', async (t) => {
  const upstream = await startHttp(t, (request, response) => {
    const hash = createHash('sha256')
    request.on('data', (chunk) => hash.update(chunk))
    request.on('end', () => {
      response.writeHead(200, { Trailer: 'X-Sum' })
      response.write('sum ')
      response.addTrailers({ 'X-Sum': String(request.trailers['x-in']) })
      response.end(hash.digest('hex'))
    })
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))
  const sum = createHash('sha256').update('hello world').digest('hex')

  const chunked = openRawClient(t, port).write(
    `POST / HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n` +
      '5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nX-In: yes\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n',
  )
  const sized = openRawClient(t, port).write(
    `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 11\r\nConnection: close\r\n\r\nhello`,
  )
  sized.write(' world')

  await chunked.untilClosed()
  await sized.untilClosed()
  assert.ok(chunked.text.includes(sum))
  assert.ok(chunked.text.includes('X-Sum: yes'))
  assert.ok(sized.text.includes(sum))
})

test('a HEAD response has its length and no body, and the connection stays open', async (t) => {
  const upstream = await startHttp(t, (request, response) => {
    response.setHeader('Content-Length', 5)
    response.end(request.method === 'HEAD' ? undefined : 'abcde')
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const client = openRawClient(t, port).write(
    `HEAD / HTTP/1.1\r\nHost: ${HOST}\r\n\r\nGET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`,
  )

  await client.untilClosed()
  const [head, get] = client.text.split(/(?=HTTP\/1\.1 200)/)
  assert.match(head!, /Content-Length: 5\r\n\r\n$/)
  assert.match(get!, /\r\n\r\nabcde$/)
})

test('HTTP/1.0 clients get framing they support', async (t) => {
  const upstream = await startHttp(t, (request, response) => {
    if (request.url === '/chunked') response.write('in ')
    response.end('pieces')
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const plain = openRawClient(t, port).write(`GET /chunked HTTP/1.0\r\nHost: ${HOST}\r\n\r\n`)
  const keepAlive = openRawClient(t, port).write(
    `GET / HTTP/1.0\r\nHost: ${HOST}\r\nConnection: keep-alive\r\n\r\n`,
  )

  await plain.untilClosed()
  await keepAlive.untilText('pieces')
  assert.match(plain.text, /\r\n\r\nin pieces$/)
  assert.ok(!/transfer-encoding/i.test(plain.text))
  assert.match(keepAlive.text, /Connection: keep-alive\r\n/)
  keepAlive.write(`GET / HTTP/1.0\r\nHost: ${HOST}\r\n\r\n`)
  await keepAlive.untilClosed()
  assert.equal(keepAlive.text.match(/pieces/g)?.length, 2)
})

test('100-continue is forwarded both ways', async (t) => {
  const upstream = await startHttp(t, (request, response) => {
    request.resume()
    request.on('end', () => response.end('done'))
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const client = openRawClient(t, port).write(
    `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n`,
  )
  await client.untilText('HTTP/1.1 100 Continue\r\n\r\n')
  client.write('body')

  await client.untilText('done')
})

test('a response before the end of the body closes the connection', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig'))
  })
  const tunnel = createLocalTunnel(upstream)
  const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel))

  const client = openRawClient(t, port).write(
    `POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 100000\r\n\r\nabc`,
  )
  await client.untilClosed()

  assert.match(client.text, /^HTTP\/1\.1 413 [\s\S]*Connection: close\r\n\r\nbig$/)
  const again = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await again.untilText('big')
  assert.equal(tunnel.clients.length, 2)
})

test('a client that disconnects ends the request at the upstream', async (t) => {
  let closed = false
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', () => {})
    socket.on('close', () => {
      closed = true
    })
  })
  const tunnel = createLocalTunnel(upstream)
  const { port } = await startEdge(t, new TestTunnels().add(HOST, tunnel), { limits: shortLimits })

  const client = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await eventually(() => tunnel.clients.length === 1, 'the upstream is connected')
  client.socket.end()

  await eventually(() => closed, 'the upstream connection is closed')
})

test('a client that half-closes still gets its response', async (t) => {
  const upstream = await startHttp(t, (_request, response) => setTimeout(() => response.end('late'), 50))
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const client = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  client.socket.end()

  await client.untilClosed()
  assert.match(client.text, /late$/)
})

test('a half-closed client whose response stops half-way is given up soon, and visibly', async (t) => {
  let answer: ServerResponse | undefined
  const upstream = await startHttp(t, (_request, response) => {
    answer = response
  })
  const limits = { ...shortLimits, progress: 60_000 }
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)), { limits })
  const client = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await eventually(() => answer !== undefined, 'the upstream has the request')
  await new Promise<void>((resolve) => client.socket.end(resolve))

  answer?.write('first')

  await client.untilText('first')
  await eventually(() => answer?.destroyed === true, 'the upstream is disconnected')
  await client.until(({ closed }) => closed, 'the end of the connection')
  // P18: an incomplete response must not look like a clean end.
  assert.equal(client.error?.code, 'ECONNRESET')
})

test('a half-closed client that reads slowly gets its whole response', async (t) => {
  const size = 6 * 1024 * 1024
  const upstream = await startHttp(t, (request, response) => {
    if (request.url === '/large') response.end(Buffer.alloc(size, 'x'))
  })
  const limits = { ...shortLimits, progress: 60_000 }
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)), { limits })
  const ask = (path: string) => {
    const client = openRawClient(t, port).write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    client.socket.end()
    return client
  }
  const slow = await ask('/large').untilText('200 OK')
  slow.socket.pause()

  // Its timeout began later, so that of the slow one has expired too.
  await ask('/nothing').untilClosed()
  slow.socket.resume()

  await slow.until(({ received }) => received.length > size, 'the complete response')
})

test('an upstream that closes without a response becomes a 502', async (t) => {
  const upstream = await startTcp(t, (socket) => socket.destroy())
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))

  const client = openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)

  await client.untilText('ERR_ADIT_8016\n')
  assert.match(client.text, /^HTTP\/1\.1 502 Bad Gateway/)
})

test('a stale pooled upstream connection is replaced without the client noticing', async (t) => {
  let connections = 0
  const upstream = await startTcp(t, (socket) => {
    connections++
    socket.on('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      // The first connection dies exactly when the second request arrives on it.
      if (connections === 1) socket.once('data', () => socket.destroy())
    })
  })
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))
  const request = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`

  const client = openRawClient(t, port).write(request)
  await client.untilText('ok')
  client.write(request)
  await client.until(({ text }) => text.split('200 OK').length >= 3)

  assert.ok(!client.text.includes('502'))
})

test('empty lines before a request line are ignored, also in pieces and between requests', async (t) => {
  const upstream = await startHttp(t, (request, response) => response.end(request.url))
  const { port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))
  const client = openRawClient(t, port)
  const head = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`

  await client.write(`\r\n${head('/first')}`).untilText('/first')
  await client.write(`\r\n\r\n${head('/second')}\r\n${head('/third')}`).untilText('/third')
  for (const byte of `\r\n${head('/fourth')}`) {
    client.write(byte)
    await new Promise(setImmediate)
  }
  await client.untilText('/fourth')

  assert.equal(client.text.match(/HTTP\/1\.1 200/g)?.length, 4)
  const bare = await openRawClient(t, port)
    .write(`\n${head('/')}`)
    .untilClosed()
  assert.match(bare.text, /^HTTP\/1\.1 400/)
})

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAgentLog } from '../log/log.ts'
import { startRoute, startService, visit } from './testing.ts'

const GET = 'GET /hello HTTP/1.1\r\nHost: public.example.com\r\n\r\n'

test('bytes go both ways, and each half-close is passed on', async (t) => {
  const port = await startService(t, (socket) => {
    let got = ''
    socket.on('data', (chunk) => {
      got += chunk
    })
    socket.on('end', () => socket.end(`got ${got}`))
  })
  const { route, connections } = startRoute({ proto: 'tcp', addr: String(port) })

  const visitor = visit(route, 'tcp')
  visitor.send('hello')
  visitor.end()
  await visitor.until(() => visitor.closed)

  assert.equal(visitor.text, 'got hello')
  assert.equal(visitor.error, undefined)
  assert.equal(visitor.unconsumed, 0)
  await visitor.until(() => connections.gauge === 0)
  assert.equal(connections.count, 1)
})

test('a megabyte each way arrives byte for byte', async (t) => {
  const port = await startService(t, (socket) => socket.pipe(socket))
  const { route } = startRoute({ proto: 'tcp', addr: String(port) })
  const sent = randomBytes(1_000_000)

  const visitor = visit(route, 'tcp')
  for (let at = 0; at < sent.length; at += 16_000) visitor.send(sent.subarray(at, at + 16_000))
  visitor.end()
  await visitor.until(() => visitor.closed)

  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  assert.equal(digest(visitor.received), digest(sent))
  assert.equal(visitor.unconsumed, 0)
})

test('an upstream that breaks off breaks the visitor, never a clean end', async (t) => {
  const port = await startService(t, (socket) => {
    socket.write('half an answer', () => socket.resetAndDestroy())
  })
  const { route } = startRoute({ proto: 'tcp', addr: String(port) })

  const visitor = visit(route, 'tcp')
  await visitor.until(() => visitor.closed)

  assert.equal(visitor.ended, false)
  assert.match(visitor.error?.message ?? '', /ECONNRESET|closed/)
})

test('a visitor that goes away breaks the upstream', async (t) => {
  const sockets: Socket[] = []
  const port = await startService(t, (socket) => sockets.push(socket.resume()))
  const { route, connections } = startRoute({ proto: 'tcp', addr: String(port) })
  const visitor = visit(route, 'tcp')
  visitor.send('x')
  await visitor.until(() => sockets.length === 1)

  const failed = new Promise<boolean>((resolve) => sockets[0]!.on('close', resolve))
  visitor.abort()
  const hadError = await failed

  assert.equal(hadError, true)
  await visitor.until(() => connections.gauge === 0)
})

test('an upstream that does not read gets no more than a window', async (t) => {
  const port = await startService(t, (socket) => socket.pause())
  const { route } = startRoute({ proto: 'tcp', addr: String(port) })
  const visitor = visit(route, 'tcp')

  // The kernel takes some; what it does not take must stay unconsumed.
  const piece = Buffer.alloc(16_384)
  let sent = 0
  while (visitor.unconsumed < 262_144 && sent < 64e6) {
    visitor.send(piece)
    sent += piece.length
    await new Promise((resolve) => setImmediate(resolve))
  }

  assert.ok(visitor.unconsumed >= 262_144, `${visitor.unconsumed} of ${sent}`)
  visitor.abort()
})

test('a visitor that does not read stops the upstream, and reading on goes on', async (t) => {
  let written = 0
  const port = await startService(t, (socket) => {
    const piece = Buffer.alloc(65_536, 'x')
    const more = () => {
      while (written < 20e6 && socket.write(piece)) written += piece.length
    }
    socket.on('drain', more)
    more()
  })
  const { route } = startRoute({ proto: 'tcp', addr: String(port) })
  const visitor = visit(route, 'tcp')
  visitor.room = 100_000
  await visitor.until(() => visitor.room <= 0)
  const held = visitor.received.length

  assert.ok(held < 262_144, `${held}`)
  visitor.drain(Number.POSITIVE_INFINITY)
  await visitor.until(() => visitor.received.length > 10e6)
  visitor.abort()
})

test('a refused http upstream is answered with 502 that names it, and captured', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  const { route, captures } = startRoute({ proto: 'http', addr: String(port) })

  const visitor = visit(route)
  visitor.send(GET)
  await visitor.until(() => visitor.ended)

  assert.match(visitor.text, /^HTTP\/1\.1 502 Bad Gateway\r\n/)
  assert.match(
    visitor.text,
    new RegExp(`\r\n\r\nfailed to dial backend: http://localhost:${port}: connection refused`),
  )
  assert.match(captures.list()[0]?.response?.raw().toString() ?? '', /^HTTP\/1\.1 502/)
  assert.equal(visitor.unconsumed, 0)
})

test('a refused tcp upstream is an error, not an empty answer', async () => {
  const { route } = startRoute({ proto: 'tcp', addr: '127.0.0.1:1' })

  const visitor = visit(route, 'tcp')
  visitor.send('x')
  await visitor.until(() => visitor.closed)

  assert.match(visitor.error?.message ?? '', /failed to dial backend: 127\.0\.0\.1:1/)
})

test('localhost is found on IPv6 when nothing listens on IPv4', async (t) => {
  const server = createServer((socket) => socket.end('six')).listen(0, '::1')
  const [failed] = await Promise.race([
    once(server, 'error'),
    once(server, 'listening').then(() => [undefined]),
  ])
  if (failed) return t.skip('no IPv6 on this machine')
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  const { route } = startRoute({ proto: 'tcp', addr: `localhost:${port}` })

  for (let round = 0; round < 2; round++) {
    const visitor = visit(route, 'tcp')
    await visitor.until(() => visitor.ended)
    assert.equal(visitor.text, 'six')
    visitor.end()
  }
})

test('a unix socket is an upstream as well', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'adit-unix-'))
  const path = join(dir, 'app.sock')
  const server = createServer((socket) => socket.end('unix')).listen(path)
  t.after(() => {
    server.close()
    rmSync(dir, { recursive: true })
  })
  await once(server, 'listening')
  const { route } = startRoute({ proto: 'tcp', addr: `unix:${path}` })

  const visitor = visit(route, 'tcp')
  await visitor.until(() => visitor.ended)

  assert.equal(visitor.text, 'unix')
  visitor.end()
})

test('requests are captured as the upstream saw them, with the address of the visitor', async (t) => {
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  const port = await startService(t, (socket) => socket.on('data', () => socket.write(answer)))
  const { route, captures, requests } = startRoute({ proto: 'http', addr: String(port) })

  const visitor = visit(route)
  for (let n = 1; n <= 3; n++) {
    visitor.send(GET)
    await visitor.until(() => visitor.received.length === n * answer.length)
  }

  const list = captures.list()
  assert.equal(list.length, 3)
  assert.equal(list[0]?.request.raw().toString(), GET)
  assert.equal(list[0]?.response?.raw().toString(), answer)
  assert.equal(list[0]?.remoteAddr, '203.0.113.9')
  assert.equal(requests.count, 3)
  visitor.abort()
})

test('without inspection requests are counted and not kept', async (t) => {
  const port = await startService(t, (socket) =>
    socket.on('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n')),
  )
  const { route, captures, requests } = startRoute({ proto: 'http', addr: String(port), inspect: false })

  const visitor = visit(route)
  visitor.send(GET)
  await visitor.until(() => visitor.received.length > 0)

  assert.equal(captures.size, 0)
  assert.equal(requests.count, 1)
  visitor.abort()
})

test('the Host is rewritten for the upstream and its redirects back for the visitor', async (t) => {
  let got = ''
  const port = await startService(t, (socket) =>
    socket.on('data', (chunk) => {
      got += chunk
      socket.write(
        `HTTP/1.1 302 Found\r\nLocation: http://localhost:${port}/next?a=1\r\nContent-Length: 0\r\n\r\n`,
      )
    }),
  )
  const { route } = startRoute({ proto: 'http', addr: String(port), host_header: 'rewrite' })

  const visitor = visit(route)
  for (const piece of ['GET /a HTTP/1.1\r\nHo', 'st: public.example.com\r\nX: y\r\n\r\n']) visitor.send(piece)
  await visitor.until(() => visitor.text.includes('\r\n\r\n'))

  assert.equal(
    got,
    `GET /a HTTP/1.1\r\nHost: localhost:${port}\r\nX-Forwarded-Host: public.example.com\r\nX: y\r\n\r\n`,
  )
  assert.match(visitor.text, /\r\nLocation: https:\/\/public\.example\.com\/next\?a=1\r\n/)
  visitor.abort()
})

test('redirects to elsewhere and bodies stay as they are when the Host is rewritten', async (t) => {
  const answer =
    'HTTP/1.1 302 Found\r\nLocation: https://other.test/\r\nContent-Length: 15\r\n\r\nHost: localhost'
  const port = await startService(t, (socket) => socket.on('data', () => socket.write(answer)))
  const { route } = startRoute({ proto: 'http', addr: String(port), host_header: 'app.test' })

  const visitor = visit(route)
  visitor.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nHost: still')
  await visitor.until(() => visitor.received.length >= answer.length)

  assert.equal(visitor.text, answer)
  visitor.abort()
})

test('a PROXY header is passed on and not taken for a request', async (t) => {
  let got = ''
  const port = await startService(t, (socket) =>
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1')
      if (got.includes('\r\n\r\n')) socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    }),
  )
  const { route, captures } = startRoute({ proto: 'http', addr: String(port), proxy_proto: '1' })

  const visitor = visit(route)
  visitor.send('PROXY TCP4 203.0.113.9 19')
  visitor.send(`8.51.100.1 5000 443\r\n${GET}`)
  await visitor.until(() => visitor.received.length > 0)

  assert.equal(got, `PROXY TCP4 203.0.113.9 198.51.100.1 5000 443\r\n${GET}`)
  assert.equal(captures.list()[0]?.request.raw().toString(), GET)
  visitor.abort()
})

test('a missing PROXY header is an error', async (t) => {
  const port = await startService(t, () => {})
  const { route } = startRoute({ proto: 'tcp', addr: String(port), proxy_proto: '2' })

  const visitor = visit(route, 'tcp')
  visitor.send('no header')
  await visitor.until(() => visitor.closed)

  assert.match(visitor.error?.message ?? '', /PROXY header/)
})

test('a development server that refuses the name gives a hint, once', async (t) => {
  const port = await startService(t, (socket) =>
    socket.on('data', () =>
      socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 19\r\n\r\nInvalid Host header'),
    ),
  )
  const lines: string[] = []
  const log = createAgentLog({ output: (line) => lines.push(line), format: 'logfmt', level: 'warn' })
  const { route } = startRoute({ proto: 'http', addr: String(port) }, log)

  const visitor = visit(route)
  for (let n = 1; n <= 2; n++) {
    visitor.send(GET)
    await visitor.until(() => visitor.text.split('Invalid Host header').length > n)
  }

  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /--host-header=rewrite/)
  visitor.abort()
})

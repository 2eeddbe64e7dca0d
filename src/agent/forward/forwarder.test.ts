import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startTcp } from '../../../test/support/local-server.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createAgentLog } from '../log/log.ts'
import { createTestRoute, openTestClient } from '../testing/route.ts'

const GET = 'GET /hello HTTP/1.1\r\nHost: public.example.com\r\n\r\n'

test('data flows both ways, and each half-close is propagated', async (t) => {
  const port = await startTcp(t, (socket) => {
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('end', () => socket.end(`received ${received}`))
  })
  const { route, connections } = createTestRoute({ proto: 'tcp', addr: String(port) })

  const client = openTestClient(route, 'tcp')
  client.send('hello')
  client.end()
  await client.until(() => client.closed)

  assert.equal(client.text, 'received hello')
  assert.equal(client.error, undefined)
  assert.equal(client.unconsumed, 0)
  await client.until(() => connections.gauge === 0)
  assert.equal(connections.count, 1)
})

test('a megabyte each way arrives byte for byte', async (t) => {
  const port = await startTcp(t, (socket) => socket.pipe(socket))
  const { route } = createTestRoute({ proto: 'tcp', addr: String(port) })
  const payload = randomBytes(1_000_000)

  const client = openTestClient(route, 'tcp')
  for (let offset = 0; offset < payload.length; offset += 16_000)
    client.send(payload.subarray(offset, offset + 16_000))
  client.end()
  await client.until(() => client.closed)

  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  assert.equal(digest(client.received), digest(payload))
  assert.equal(client.unconsumed, 0)
})

test('an upstream reset reaches the client as an error, never as a clean end', async (t) => {
  const port = await startTcp(t, (socket) => {
    socket.write('half a response', () => socket.resetAndDestroy())
  })
  const { route } = createTestRoute({ proto: 'tcp', addr: String(port) })

  const client = openTestClient(route, 'tcp')
  await client.until(() => client.closed)

  assert.equal(client.ended, false)
  assert.match(client.error?.message ?? '', /ECONNRESET|closed/)
})

test('a client that disconnects resets the upstream', async (t) => {
  const sockets: Socket[] = []
  const port = await startTcp(t, (socket) => sockets.push(socket.resume()))
  const { route, connections } = createTestRoute({ proto: 'tcp', addr: String(port) })
  const client = openTestClient(route, 'tcp')
  client.send('x')
  await client.until(() => sockets.length === 1)

  const failed = new Promise<boolean>((resolve) => sockets[0]!.on('close', resolve))
  client.abort()
  const hadError = await failed

  assert.equal(hadError, true)
  await client.until(() => connections.gauge === 0)
})

test('an upstream that does not read is sent no more than a window', async (t) => {
  const port = await startTcp(t, (socket) => socket.pause())
  const { route } = createTestRoute({ proto: 'tcp', addr: String(port) })
  const client = openTestClient(route, 'tcp')

  // The kernel buffers some of it; the rest must stay unconsumed.
  const chunk = Buffer.alloc(16_384)
  let sentBytes = 0
  while (client.unconsumed < 262_144 && sentBytes < 64e6) {
    client.send(chunk)
    sentBytes += chunk.length
    await new Promise((resolve) => setImmediate(resolve))
  }

  assert.ok(client.unconsumed >= 262_144, `${client.unconsumed} of ${sentBytes}`)
  client.abort()
})

test('a client that does not read stops the upstream, which resumes when the client reads again', async (t) => {
  let written = 0
  const port = await startTcp(t, (socket) => {
    const chunk = Buffer.alloc(65_536, 'x')
    const fill = () => {
      while (written < 20e6 && socket.write(chunk)) written += chunk.length
    }
    socket.on('drain', fill)
    fill()
  })
  const { route } = createTestRoute({ proto: 'tcp', addr: String(port) })
  const client = openTestClient(route, 'tcp')
  client.window = 100_000
  await client.until(() => client.window <= 0)
  const receivedBytes = client.received.length

  assert.ok(receivedBytes < 262_144, `${receivedBytes}`)
  client.drain(Number.POSITIVE_INFINITY)
  await client.until(() => client.received.length > 10e6)
  client.abort()
})

test('an unreachable http upstream gives a 502 that names it, and is captured', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  const { route, captures } = createTestRoute({ proto: 'http', addr: String(port) })

  const client = openTestClient(route)
  client.send(GET)
  await client.until(() => client.ended)

  assert.match(client.text, /^HTTP\/1\.1 502 Bad Gateway\r\n/)
  assert.match(
    client.text,
    new RegExp(`\r\n\r\nfailed to dial backend: http://localhost:${port}: connection refused`),
  )
  assert.match(captures.list()[0]?.response?.raw().toString() ?? '', /^HTTP\/1\.1 502/)
  assert.equal(client.unconsumed, 0)
})

test('an unreachable tcp upstream is an error, not an empty response', async () => {
  const { route } = createTestRoute({ proto: 'tcp', addr: '127.0.0.1:1' })

  const client = openTestClient(route, 'tcp')
  client.send('x')
  await client.until(() => client.closed)

  assert.match(client.error?.message ?? '', /failed to dial backend: 127\.0\.0\.1:1/)
})

test('localhost is dialled on IPv6 when nothing listens on IPv4', async (t) => {
  const server = createServer((socket) => socket.end('six')).listen(0, '::1')
  const [failed] = await Promise.race([
    once(server, 'error'),
    once(server, 'listening').then(() => [undefined]),
  ])
  if (failed) return t.skip('no IPv6 on this machine')
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  const { route } = createTestRoute({ proto: 'tcp', addr: `localhost:${port}` })

  for (let round = 0; round < 2; round++) {
    const client = openTestClient(route, 'tcp')
    await client.until(() => client.ended)
    assert.equal(client.text, 'six')
    client.end()
  }
})

test('a unix socket can be an upstream', async (t) => {
  const dir = createTempDir()
  const path = join(dir, 'app.sock')
  const server = createServer((socket) => socket.end('unix')).listen(path)
  t.after(() => {
    server.close()
  })
  await once(server, 'listening')
  const { route } = createTestRoute({ proto: 'tcp', addr: `unix:${path}` })

  const client = openTestClient(route, 'tcp')
  await client.until(() => client.ended)

  assert.equal(client.text, 'unix')
  client.end()
})

test('requests are captured as the upstream received them, with the client address', async (t) => {
  const response = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  const port = await startTcp(t, (socket) => socket.on('data', () => socket.write(response)))
  const { route, captures, requests } = createTestRoute({ proto: 'http', addr: String(port) })

  const client = openTestClient(route)
  for (let n = 1; n <= 3; n++) {
    client.send(GET)
    await client.until(() => client.received.length === n * response.length)
  }

  const list = captures.list()
  assert.equal(list.length, 3)
  assert.equal(list[0]?.request.raw().toString(), GET)
  assert.equal(list[0]?.response?.raw().toString(), response)
  assert.equal(list[0]?.remoteAddr, '203.0.113.9')
  assert.equal(requests.count, 3)
  client.abort()
})

test('without inspection, requests are counted but not captured', async (t) => {
  const port = await startTcp(t, (socket) =>
    socket.on('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n')),
  )
  const { route, captures, requests } = createTestRoute({ proto: 'http', addr: String(port), inspect: false })

  const client = openTestClient(route)
  client.send(GET)
  await client.until(() => client.received.length > 0)

  assert.equal(captures.size, 0)
  assert.equal(requests.count, 1)
  client.abort()
})

test('the Host is rewritten for the upstream, and its redirects for the client', async (t) => {
  let received = ''
  const port = await startTcp(t, (socket) =>
    socket.on('data', (chunk) => {
      received += chunk
      socket.write(
        `HTTP/1.1 302 Found\r\nLocation: http://localhost:${port}/next?a=1\r\nContent-Length: 0\r\n\r\n`,
      )
    }),
  )
  const { route } = createTestRoute({ proto: 'http', addr: String(port), host_header: 'rewrite' })

  const client = openTestClient(route)
  for (const chunk of ['GET /a HTTP/1.1\r\nHo', 'st: public.example.com\r\nX: y\r\n\r\n']) client.send(chunk)
  await client.until(() => client.text.includes('\r\n\r\n'))

  assert.equal(
    received,
    `GET /a HTTP/1.1\r\nHost: localhost:${port}\r\nX-Forwarded-Host: public.example.com\r\nX: y\r\n\r\n`,
  )
  assert.match(client.text, /\r\nLocation: https:\/\/public\.example\.com\/next\?a=1\r\n/)
  client.abort()
})

test('redirects to other hosts and bodies are unchanged when the Host is rewritten', async (t) => {
  const response =
    'HTTP/1.1 302 Found\r\nLocation: https://other.test/\r\nContent-Length: 15\r\n\r\nHost: localhost'
  const port = await startTcp(t, (socket) => socket.on('data', () => socket.write(response)))
  const { route } = createTestRoute({ proto: 'http', addr: String(port), host_header: 'app.test' })

  const client = openTestClient(route)
  client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nHost: still')
  await client.until(() => client.received.length >= response.length)

  assert.equal(client.text, response)
  client.abort()
})

test('a PROXY header is forwarded and not parsed as a request', async (t) => {
  let received = ''
  const port = await startTcp(t, (socket) =>
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      if (received.includes('\r\n\r\n')) socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    }),
  )
  const { route, captures } = createTestRoute({ proto: 'http', addr: String(port), proxy_proto: '1' })

  const client = openTestClient(route)
  client.send('PROXY TCP4 203.0.113.9 19')
  client.send(`8.51.100.1 5000 443\r\n${GET}`)
  await client.until(() => client.received.length > 0)

  assert.equal(received, `PROXY TCP4 203.0.113.9 198.51.100.1 5000 443\r\n${GET}`)
  assert.equal(captures.list()[0]?.request.raw().toString(), GET)
  client.abort()
})

test('a missing PROXY header is an error', async (t) => {
  const port = await startTcp(t, () => {})
  const { route } = createTestRoute({ proto: 'tcp', addr: String(port), proxy_proto: '2' })

  const client = openTestClient(route, 'tcp')
  client.send('no header')
  await client.until(() => client.closed)

  assert.match(client.error?.message ?? '', /PROXY header/)
})

test('the origin of the visited host is rewritten with the Host, another one is not', async (t) => {
  let received = ''
  const port = await startTcp(t, (socket) =>
    socket.on('data', (chunk) => {
      received = chunk.toString('latin1')
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    }),
  )
  const { route } = createTestRoute({ proto: 'http', addr: String(port), host_header: 'rewrite' })
  const client = openTestClient(route)
  let answers = 0
  /** The field lines of a request as the upstream gets them. */
  const send = async (...fields: string[]) => {
    const head = [
      'GET / HTTP/1.1',
      'Host: Public.example.com:8443',
      'X-Forwarded-Proto: https',
      ...fields,
      '',
      '',
    ]
    client.send(head.join('\r\n'))
    answers++
    await client.until(() => client.text.split('204').length > answers)
    return received.split('\r\n').slice(4, 4 + fields.length)
  }
  const own = `http://localhost:${port}`

  assert.deepEqual(
    await send(
      'Origin: https://public.example.com:8443',
      'Referer: https://public.example.com:8443/a?b=https://x/',
    ),
    [`Origin: ${own}`, `Referer: ${own}/a?b=https://x/`],
  )
  const foreign = [
    'https://other.test',
    'http://public.example.com:8443',
    'https://public.example.com',
    'https://public.example.com:8443.other.test',
    'https://public.example.com:8443@other.test',
    'https://sub.public.example.com:8443',
    'null',
  ].flatMap((origin) => [`Origin: ${origin}`, `Referer: ${origin}/`])
  assert.deepEqual(await send(...foreign), foreign)
  const upgrade = ['Upgrade: websocket', 'Connection: Upgrade', 'Origin: https://public.example.com:8443']
  assert.deepEqual(await send(...upgrade), [...upgrade.slice(0, 2), `Origin: ${own}`])
  client.abort()
})

/** Beginnings of what servers answer to a host or origin that they do not know, as they send them. */
const REJECTIONS: Readonly<Record<string, readonly [status: number, body: string]>> = {
  'webpack-dev-server': [403, 'Invalid Host header'],
  Vite: [403, 'Blocked request. This host ("app.example.com") is not allowed.\nTo allow this host, add'],
  'Django, the host': [
    400,
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n  <meta http-equiv="content-type" content="text/html; charset=utf-8">\n' +
      '  <meta name="robots" content="NONE,NOARCHIVE">\n  <title>DisallowedHost\n          at /</title>\n',
  ],
  'Django, the host, for programs': [
    400,
    "DisallowedHost at /\nInvalid HTTP_HOST header: 'app.example.com'. You may need to add 'app.example.com' to ALLOWED_HOSTS.",
  ],
  'Django, the origin': [
    403,
    `${' '.repeat(970)}Origin checking failed - https://app.example.com does not match any trusted origins.`,
  ],
  Jupyter: [
    403,
    '<!DOCTYPE HTML>\n<html>\n\n<head>\n\n    <meta charset="utf-8">\n\n    <title>Jupyter Server</title>\n',
  ],
}

/** How many hints the agent logs for two such responses. */
async function countHints(t: TestContext, status: number, body: string): Promise<number> {
  const head = `HTTP/1.1 ${status} No\r\nContent-Length: ${body.length}\r\n\r\n`
  const port = await startTcp(t, (socket) => socket.on('data', () => socket.write(head + body)))
  const lines: string[] = []
  const log = createAgentLog({ output: (line) => lines.push(line), format: 'logfmt', level: 'warn' })
  const { route } = createTestRoute({ proto: 'http', addr: String(port) }, log)
  const client = openTestClient(route)
  for (let n = 1; n <= 2; n++) {
    client.send(GET)
    await client.until(() => client.text.length >= n * (head.length + body.length))
  }
  client.abort()
  for (const line of lines) assert.match(line, /--host-header=rewrite/)
  return lines.length
}

for (const [server, [status, body]] of Object.entries(REJECTIONS)) {
  test(`a rejection of the host name causes one hint: ${server}`, async (t) => {
    assert.equal(await countHints(t, status, body), 1)
  })
}

test('other errors cause no hint', async (t) => {
  assert.equal(await countHints(t, 403, 'Forbidden'), 0)
  assert.equal(await countHints(t, 404, REJECTIONS.Jupyter![1]), 0)
})

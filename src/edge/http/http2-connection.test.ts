import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  createServer as createHttp2Server,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { eventually } from '../../../test/support/eventually.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import type { CertificateLookup } from '../listeners/tls-terminator.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { shortLimits, startEdge } from '../testing/edge.ts'
import { sendHttp2 } from '../testing/http2-client.ts'
import { frame, headersFrame } from '../testing/http2-frame.ts'
import { createLocalTunnel, type LocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

async function startSecure(t: TestContext, tunnel: LocalTunnel, config = {}) {
  const certificates = await createTestCertificates('adit.localhost')
  const lookup: CertificateLookup = certificates.lookup
  const { tlsPort, edge } = await startEdge(t, new TestTunnels().add(HOST, tunnel), config, {
    certificates: lookup,
  })
  const connect = () => {
    const session = connectHttp2(`https://${HOST}:${tlsPort}`, {
      ca: certificates.ca,
      host: '127.0.0.1',
      servername: HOST,
    })
    session.on('error', () => {})
    t.after(() => session.destroy())
    return session
  }
  return { edge, connect, tlsPort, ca: certificates.ca }
}

test('requests of one HTTP/2 connection are answered concurrently', async (t) => {
  const upstream = await startHttp(t, (request, response) => {
    setTimeout(() => response.end(request.url), request.url === '/0' ? 100 : 0)
  })
  const { connect } = await startSecure(t, createLocalTunnel(upstream, { proto: 'https' }))
  const session = connect()

  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, n) => sendHttp2(session, { ':path': `/${n}` })),
  )

  assert.deepEqual(
    responses.map(({ body }) => body.toString()),
    Array.from({ length: 50 }, (_, n) => `/${n}`),
  )
})

test('bodies of HTTP/2 requests arrive unchanged, with or without a length, and trailers come back', async (t) => {
  const upstream = await startHttp(t, (request, response) => {
    const hash = createHash('sha256')
    request.on('data', (chunk) => hash.update(chunk))
    request.on('end', () => {
      response.writeHead(200, { Trailer: 'X-Sum' })
      response.write(String(request.headers['content-length'] ?? request.headers['transfer-encoding']))
      response.addTrailers({ 'X-Sum': hash.digest('hex') })
      response.end()
    })
  })
  const { connect } = await startSecure(t, createLocalTunnel(upstream, { proto: 'https' }))
  const session = connect()
  const payload = randomBytes(700_000)
  const sum = createHash('sha256').update(payload).digest('hex')

  const chunked = await sendHttp2(session, { ':method': 'POST' }, payload)
  const sized = await sendHttp2(session, { ':method': 'POST', 'content-length': payload.length }, payload)

  assert.equal(chunked.body.toString(), 'chunked')
  assert.equal(chunked.trailers?.['x-sum'], sum)
  assert.equal(sized.body.toString(), String(payload.length))
  assert.equal(sized.trailers?.['x-sum'], sum)
})

const hostile: [string, OutgoingHttpHeaders][] = [
  ['space in the path', { ':path': '/a b' }],
  ['line break in the path', { ':path': '/a\r\nX: y' }],
  ['fragment', { ':path': '/a#b' }],
  ['no slash', { ':path': 'a' }],
  ['empty path', { ':path': '' }],
  ['absolute path', { ':path': 'http://evil.example/' }],
  ['asterisk', { ':path': '*' }],
  ['request line in the path', { ':path': '/ HTTP/1.1' }],
  ['tab in the path', { ':path': '/a\tb' }],
  ['blank in the method', { ':method': 'GET /smuggled HTTP/1.1' }],
  ['line break in the method', { ':method': 'GET\r\nX: y' }],
  ['colon in the method', { ':method': 'GET:' }],
  ['plain scheme', { ':scheme': 'http' }],
  ['scheme with an address', { ':scheme': 'https://evil.example/?' }],
  ['another host', { ':authority': HOST, host: 'evil.example' }],
  ['another port in host', { ':authority': HOST, host: `${HOST}:1` }],
  ['host list', { ':authority': `${HOST},evil.example` }],
  ['user in the authority', { ':authority': `a@${HOST}` }],
  ['path in the authority', { ':authority': `${HOST}/a` }],
  ['blank in the authority', { ':authority': `${HOST} x` }],
  ['line break in the authority', { ':authority': `${HOST}\r\nX: y` }],
  ['empty authority', { ':authority': '' }],
  ['length with a sign', { 'content-length': '+5' }],
  ['length list', { 'content-length': '5, 5' }],
  ['length of an empty request', { 'content-length': '5' }],
  ['chunked', { 'transfer-encoding': 'chunked' }],
  ['connection', { connection: 'close' }],
  ['upgrade', { upgrade: 'websocket' }],
  ['proxy-connection', { 'proxy-connection': 'x' }],
  ['expectation', { expect: '200-ok' }],
  ['too many fields', Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`x-${n}`, 'a']))],
  ['too large a field', { 'x-a': 'a'.repeat(17_000) }],
  ['too long a path', { ':path': `/${'a'.repeat(9_000)}` }],
  ['CONNECT', { ':method': 'CONNECT', ':authority': `${HOST}:443` }],
  ['extended CONNECT', { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/' }],
]

test('no hostile set of HTTP/2 fields changes the request the upstream gets', async (t) => {
  let upstreamReceived = ''
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      upstreamReceived += chunk.toString('latin1')
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    })
  })
  const { connect } = await startSecure(t, createLocalTunnel(upstream, { proto: 'https' }))

  for (const [what, headers] of hostile) {
    upstreamReceived = ''
    const session = connect()
    let status = 0
    try {
      const response = await sendHttp2(session, { ':path': '/x', ...headers })
      status = Number(response.headers[':status'] ?? 0)
    } catch {
      // Node's client rejects some of them itself.
    }
    session.destroy()

    assert.ok(status === 0 || (status >= 400 && status < 500), `${what}: ${status}`)
    assert.equal(upstreamReceived, '', what)
  }
})

test('a value that would break a line never reaches the upstream, nor does anything after it', async (t) => {
  let upstreamReceived = ''
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      upstreamReceived = chunk.toString('latin1')
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    })
  })
  const { connect } = await startSecure(t, createLocalTunnel(upstream, { proto: 'https' }))

  // The HTTP/2 library drops such a field silently before the edge sees it (decision 115).
  for (const value of ['b\r\ncontent-length: 5', 'b\nhost: evil.example', 'b\0c']) {
    await sendHttp2(connect(), { ':path': '/x', 'x-a': value, 'x-b': 'kept' })

    assert.match(
      upstreamReceived,
      /^GET \/x HTTP\/1\.1\r\nHost: app\.adit\.localhost:\d+\r\nx-b: kept\r\nX-Forwarded-For/,
    )
  }
})

test('raw frames with fields that Node would not send cannot change the request', async (t) => {
  let upstreamReceived = ''
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      upstreamReceived += chunk.toString('latin1')
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    })
  })
  const { tlsPort, ca } = await startSecure(t, createLocalTunnel(upstream, { proto: 'https' }))
  const base: [string, string][] = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', HOST],
    [':path', '/x'],
  ]
  const sets: [string, string][][] = [
    [...base, ['x-a', 'b\r\nhost: evil.example']],
    [...base, ['x-a\r\nhost', 'evil.example']],
    [...base, ['x-a: b\r\n\r\nGET /smuggled HTTP/1.1\r\nhost', 'a']],
    [...base, ['Host', 'evil.example']],
    [...base, ['x:y', 'a']],
    [...base, ['', 'a']],
    [...base, ['host', 'evil.example']],
    [...base, ['content-length', '5']],
    [...base, ['content-length', '0'], ['content-length', '5']],
    [...base, ['transfer-encoding', 'chunked']],
    [...base, ['connection', 'content-length']],
    [...base, ['te', 'gzip']],
    [...base, [':path', '/y']],
    [...base, [':authority', 'evil.example']],
    [['x-a', 'b'], ...base],
    [...base.slice(0, 3), [':path', '/x HTTP/1.1\r\nX: y']],
    [...base.slice(1), [':method', 'GET /smuggled HTTP/1.1\r\nX:']],
    [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/x'],
    ],
    [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':authority', `${HOST}\r\nX: y`],
      [':path', '/x'],
    ],
    [...base, ['cookie', 'a\r\nb']],
    [...base.slice(1), [':method', 'CONNECT']],
    [...base.slice(1), [':method', 'CONNECT'], [':protocol', 'websocket']],
    [...base, [':protocol', 'websocket']],
    [...base, ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='], ['upgrade', 'websocket']],
  ]
  for (const fields of sets) {
    upstreamReceived = ''
    const socket = connectTls({
      port: tlsPort,
      host: '127.0.0.1',
      servername: HOST,
      ca,
      ALPNProtocols: ['h2'],
    })
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    socket.write(Buffer.concat([PREFACE, frame(4, 0, 0, Buffer.alloc(0)), headersFrame(fields)]))
    // A second, valid request shows that the first has been handled.
    socket.write(headersFrame([...base.slice(0, 3), [':path', '/valid']], 3))
    await Promise.race([
      once(socket, 'close'),
      eventually(() => upstreamReceived.includes('/valid'), 'the second request arrived', 5_000),
    ])

    assert.ok(
      !/evil\.example\r\n|smuggled|X: y/.test(upstreamReceived),
      `${JSON.stringify(fields)} gave ${upstreamReceived}`,
    )
    // A request may arrive without a field that Node dropped, but otherwise unchanged.
    for (const line of upstreamReceived.match(/^[A-Z]+ .*$/gm) ?? []) {
      assert.match(line, /^GET \/(x|valid) HTTP\/1\.1$/m)
    }
    socket.destroy()
  }
})

test('a forbidden field that the HTTP/2 library accepts is rejected, not repaired', async (t) => {
  let requests = 0
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', () => {
      requests++
      socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    })
  })
  const { tlsPort, ca } = await startSecure(t, createLocalTunnel(upstream, { proto: 'https' }))
  const base: [string, string][] = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', HOST],
    [':path', '/x'],
  ]

  for (const value of [' a', 'a ', '\ta', 'a\t', ' ', '\xa0 ']) {
    const socket = connectTls({
      port: tlsPort,
      host: '127.0.0.1',
      servername: HOST,
      ca,
      ALPNProtocols: ['h2'],
    })
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    let received = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
    })
    await once(socket, 'secureConnect')
    socket.write(
      Buffer.concat([PREFACE, frame(4, 0, 0, Buffer.alloc(0)), headersFrame([...base, ['x-a', value]])]),
    )

    await eventually(
      () => received.includes('header field x-a begins or ends with white space'),
      `${JSON.stringify(value)} is rejected`,
    )
  }
  assert.equal(requests, 0)
})

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** Sends a POST of one byte with these trailers on a new connection and collects the response. */
async function postWithTrailers(
  t: TestContext,
  { tlsPort: port, ca }: { tlsPort: number; ca: string },
  trailers: readonly (readonly [string, string])[],
) {
  const socket = connectTls({ port, host: '127.0.0.1', servername: HOST, ca, ALPNProtocols: ['h2'] })
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  const client = { received: Buffer.alloc(0) }
  socket.on('data', (chunk: Buffer) => {
    client.received = Buffer.concat([client.received, chunk])
  })
  await once(socket, 'secureConnect')
  const fields = [
    [':method', 'POST'],
    [':scheme', 'https'],
    [':authority', HOST],
    [':path', '/x'],
  ] as const
  const END_HEADERS = 4
  socket.write(
    Buffer.concat([
      PREFACE,
      frame(4, 0, 0, Buffer.alloc(0)),
      headersFrame(fields, 1, END_HEADERS),
      frame(0, 0, 1, Buffer.from('x')),
      headersFrame(trailers),
    ]),
  )
  return client
}

test('HTTP/2 trailers are forwarded with the body, and malformed ones are rejected with 400', async (t) => {
  let upstreamReceived = ''
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      upstreamReceived += chunk.toString('latin1')
      if (upstreamReceived.endsWith('\r\n\r\n') && upstreamReceived.includes('\r\n0\r\n'))
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole')
    })
  })
  const edge = await startSecure(t, createLocalTunnel(upstream, { proto: 'https' }))

  const valid = await postWithTrailers(t, edge, [['x-sum', 'a']])
  await eventually(() => valid.received.includes('whole'), 'the valid request is answered')
  assert.match(upstreamReceived, /\r\n1\r\nx\r\n0\r\nx-sum: a\r\n\r\n$/)

  const malformed: Record<string, readonly (readonly [string, string])[]> = {
    'a space before a value': [['x-sum', ' a']],
    'a tab after a value': [['x-sum', 'a\t']],
    'one malformed field among others': [
      ['x-sum', 'a'],
      ['x-more', 'b '],
    ],
  }
  for (const [what, trailers] of Object.entries(malformed)) {
    upstreamReceived = ''
    const client = await postWithTrailers(t, edge, trailers)

    await eventually(() => client.received.includes('its trailers are malformed'), `${what} is rejected`)
    // RFC 7541: `:status: 400` is field 12 of the static table.
    assert.ok(client.received.includes(0x8c), `the response to ${what} is 400`)
    assert.doesNotMatch(upstreamReceived, /x-sum|x-more|\r\n0\r\n/)
  }
})

test('a body longer or shorter than declared reaches the upstream as aborted, never as complete', async (t) => {
  let ended = 0
  const upstream = await startHttp(t, (request, response) => {
    request.resume()
    request.on('end', () => {
      ended++
      response.end('whole')
    })
    request.on('error', () => {})
  })
  const { connect } = await startSecure(t, createLocalTunnel(upstream, { proto: 'https' }))

  for (const length of [4, 6]) {
    const { code, headers } = await sendHttp2(
      connect(),
      { ':method': 'POST', 'content-length': length },
      Buffer.from('hello'),
    )
    assert.ok(code !== 0 || Number(headers[':status']) !== 200, `declared ${length}`)
  }
  assert.equal(ended, 0)
})

test('a client that resets its stream aborts the request at the upstream at once', async (t) => {
  let aborted = false
  const upstream = await startHttp(t, (request) => {
    request.on('close', () => {
      aborted = true
    })
  })
  const tunnel = createLocalTunnel(upstream, { proto: 'https' })
  const { connect } = await startSecure(t, tunnel)

  const stream = connect().request({ ':path': '/slow' })
  stream.on('error', () => {})
  await eventually(() => tunnel.clients.length === 1, 'the upstream is connected')
  stream.close(constants.NGHTTP2_CANCEL)

  await eventually(() => aborted, 'the upstream request is aborted', 2_000)
})

test('an HTTP/2 client that closes its socket aborts its requests at the upstream', async (t) => {
  let aborted = false
  const upstream = await startHttp(t, (request) => {
    request.on('close', () => {
      aborted = true
    })
  })
  const tunnel = createLocalTunnel(upstream, { proto: 'https' })
  const { tlsPort, ca } = await startSecure(t, tunnel)
  const socket = connectTls({ host: '127.0.0.1', port: tlsPort, servername: HOST, ca, ALPNProtocols: ['h2'] })
  const session = connectHttp2(`https://${HOST}:${tlsPort}`, { createConnection: () => socket })
  session.on('error', () => {})
  t.after(() => session.destroy())

  session.request({ ':path': '/slow' }).on('error', () => {})
  await eventually(() => tunnel.clients.length === 1, 'the upstream is connected')
  socket.end()

  await eventually(() => aborted, 'the upstream request is aborted', 2_000)
})

test('a truncated response resets the HTTP/2 stream', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'))
  })
  const { connect } = await startSecure(t, createLocalTunnel(upstream, { proto: 'https' }))

  const { code } = await sendHttp2(connect(), { ':path': '/' })

  assert.equal(code, constants.NGHTTP2_INTERNAL_ERROR)
})

test('split cookie fields arrive as one field', async (t) => {
  let cookie = ''
  const upstream = await startHttp(t, (request, response) => {
    cookie = request.rawHeaders
      .filter((_, index, all) => all[index - 1]?.toLowerCase() === 'cookie')
      .join('|')
    response.end()
  })
  const { connect } = await startSecure(t, createLocalTunnel(upstream, { proto: 'https' }))

  await sendHttp2(connect(), { ':path': '/', cookie: ['a=1', 'b=2'] })

  assert.equal(cookie, 'a=1; b=2')
})

/** Streams that are opened together with the resets of others are refused now and then. */
const responseOrRefusal = (stream: ClientHttp2Stream) =>
  new Promise((done) => {
    stream.on('error', done).on('close', done).on('response', done)
  })

for (const [name, count, config] of [
  ['a client that cancels 500 calls at once keeps its other streams', 500, {}],
  [
    'visitors of a proxy who cancel 3,000 requests do not end the streams of others',
    3_000,
    { trustedProxies: { isTrusted: () => true, field: 'x-forwarded-for' } },
  ],
] as const)
  test(name, async (t) => {
    const silent = await startHttp(t, (request, response) => {
      if (request.url === '/') response.end('ok')
      else response.write('begun')
    })
    const { connect } = await startSecure(t, createLocalTunnel(silent, { proto: 'https' }), config)
    const session = connect()
    const other = session.request({ ':path': '/other' })
    let closed = false
    other.on('error', () => {})
    other.on('close', () => {
      closed = true
    })
    await once(other, 'response')

    // With the other stream, as many as a connection may have.
    for (let left = count; left > 0; left -= 99) {
      const streams = Array.from({ length: 99 }, () => session.request({ ':path': '/cancelled' }))
      await Promise.all(streams.map(responseOrRefusal))
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL)
    }

    await new Promise((done) => session.ping(done))
    assert.equal((await sendHttp2(session, { ':path': '/' })).body.toString(), 'ok')
    assert.ok(!closed)
  })

test('a flood of resets closes that connection only', async (t) => {
  const upstream = await startHttp(t, (_request, response) => setTimeout(() => response.end('ok'), 20))
  const { connect } = await startSecure(t, createLocalTunnel(upstream, { proto: 'https' }))
  const bystander = connect()
  const flooder = connect()
  await once(flooder, 'connect')

  let closed = false
  flooder.on('close', () => {
    closed = true
  })
  for (let n = 0; n < 3_000 && !flooder.destroyed; n++) {
    const stream = flooder.request({ ':path': '/' })
    stream.on('error', () => {})
    stream.close(constants.NGHTTP2_CANCEL)
    if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
  }

  await eventually(() => closed, 'the flooding connection is closed')
  assert.equal((await sendHttp2(bystander, { ':path': '/' })).body.toString(), 'ok')
})

test('when the edge stops, requests in flight finish and the client gets GOAWAY', async (t) => {
  let respond = () => {}
  const upstream = await startHttp(t, (_request, response) => {
    respond = () => response.end('finished')
  })
  const tunnel = createLocalTunnel(upstream, { proto: 'https' })
  const { connect, edge } = await startSecure(t, tunnel, { limits: shortLimits })
  const session = connect()
  let goaways = 0
  session.on('goaway', () => goaways++)

  const response = sendHttp2(session, { ':path': '/' })
  await eventually(() => tunnel.clients.length === 1, 'the upstream is connected')
  const stopped = edge.stop()
  await eventually(() => goaways > 0, 'the client got GOAWAY')
  setTimeout(() => respond(), 100)

  assert.equal((await response).body.toString(), 'finished')
  await stopped
})

test('an HTTP/2 client that never completes its head is disconnected', async (t) => {
  const { socket } = await startRaw(t, createLocalTunnel(1, { proto: 'https' }), shortLimits)

  // HEADERS without END_HEADERS, and nothing after it.
  socket.write(Buffer.concat([PREFACE, frame(4, 0, 0, Buffer.alloc(0)), frame(1, 0, 1, Buffer.from([0x82]))]))

  await eventually(() => socket.closed, 'the connection is closed')
})

test('a draining HTTP/2 connection closes soon after its last response', async (t) => {
  let respond = () => {}
  const upstream = await startHttp(t, (_request, response) => {
    respond = () => response.end('finished')
  })
  const tunnel = createLocalTunnel(upstream, { proto: 'https' })
  const limits = { ...shortLimits, idle: 60_000, drain: 60_000 }
  const { edge, socket } = await startRaw(t, tunnel, limits)
  const fields: [string, string][] = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', HOST],
    [':path', '/x'],
  ]
  socket.write(Buffer.concat([PREFACE, frame(4, 0, 0, Buffer.alloc(0)), headersFrame(fields)]))
  await eventually(() => String(respond).includes('finished'), 'the upstream is connected')

  const stopped = edge.stop()
  respond()

  await eventually(() => socket.closed, 'the connection is closed')
  await stopped
})

/** A client whose frames the test writes itself. */
async function startRaw(t: TestContext, tunnel: LocalTunnel, limits: typeof shortLimits) {
  const { tlsPort, ca, edge } = await startSecure(t, tunnel, { limits })
  const socket = connectTls({ port: tlsPort, host: '127.0.0.1', servername: HOST, ca, ALPNProtocols: ['h2'] })
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'secureConnect')
  return { edge, socket }
}

test('an HTTP/2 upstream gets HTTP/2, whatever the client speaks', async (t) => {
  const server = createHttp2Server()
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    const hash = createHash('sha256')
    stream.on('data', (chunk) => hash.update(chunk))
    stream.on('end', () => {
      stream.respond(
        { ':status': 200, 'x-seen': `${headers['x-forwarded-for']} ${headers[':authority']}` },
        {
          waitForTrailers: true,
        },
      )
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(`${headers[':path']} ${hash.digest('hex')}`)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port: upstream } = server.address() as AddressInfo
  const payload = randomBytes(300_000)
  const sum = createHash('sha256').update(payload).digest('hex')
  const tunnel = createLocalTunnel(upstream, { proto: 'https', forwardsProto: 'http2' })
  const { connect } = await startSecure(t, tunnel)
  const plain = await startEdge(
    t,
    new TestTunnels().add(HOST, createLocalTunnel(upstream, { forwardsProto: 'http2' })),
  )

  const session = connect()
  const [first, second] = [
    await sendHttp2(session, { ':path': '/a', ':method': 'POST', te: 'trailers' }, payload),
    await sendHttp2(session, { ':path': '/b' }),
  ]
  const client = openRawClient(t, plain.port)
  client
    .write(`POST /c HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: ${payload.length}\r\n\r\n`)
    .write(payload)
  await client.untilText('grpc-status: 0')

  assert.equal(first.body.toString(), `/a ${sum}`)
  assert.equal(first.trailers?.['grpc-status'], '0')
  assert.match(String(first.headers['x-seen']), /^127\.0\.0\.1 app\.adit\.localhost:\d+$/)
  assert.match(second.body.toString(), /^\/b /)
  assert.match(client.text, new RegExp(`^HTTP/1\\.1 200 [\\s\\S]*/c ${sum}`))
  assert.equal(tunnel.clients.length, 1)
})

test('a response of an HTTP/2 upstream starts with its head, also when it arrives in one read', async (t) => {
  const server = createHttp2Server()
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 200 })
    stream.end('whole')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port: upstream } = server.address() as AddressInfo
  const { port } = await startEdge(
    t,
    new TestTunnels().add(HOST, createLocalTunnel(upstream, { forwardsProto: 'http2' })),
  )

  for (let round = 0; round < 5; round++) {
    const client = openRawClient(t, port)
    client.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    await client.untilText('0\r\n\r\n')
    assert.match(client.text, /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n5\r\nwhole\r\n0\r\n\r\n$/)
  }
})

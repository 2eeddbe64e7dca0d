import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import ngrok, { type Session, type SessionBuilder } from '@ngrok/ngrok'
import { eventually } from '../../test/support/eventually.ts'
import { startHttp, startTcp } from '../../test/support/local-server.ts'
import { type Relay, startRelay } from '../../test/support/relay.ts'
import { Probe } from '../protocol/testing/probe.ts'
import { type Platform, startPlatform, TOKEN } from './testing/platform.ts'
import type { ClientInfo, Tunnel } from './tunnel.ts'

// The unmodified SDK from npm: it behaves here as in users' programs.

/** An upstream for listeners without traffic. A listener that forwards nowhere keeps the process alive. */
const nowhere = 'http://127.0.0.1:1'

const quick = { minHeartbeatMs: 1 }

// The SDK calls back shortly after a connection is lost, and aborts a process that is exiting at that moment.
after(() => delay(500))

const endpoint: ClientInfo = {
  clientAddress: '192.0.2.1:5000',
  serverAddress: '192.0.2.9:443',
  proto: 'https',
  via: 'endpoint',
  passthroughTls: false,
}

async function connectSdk(
  platform: Platform,
  configure: (builder: SessionBuilder) => void = () => {},
  via: Platform | Relay = platform,
): Promise<Session> {
  const builder = new ngrok.SessionBuilder()
  builder.authtoken(TOKEN).serverAddr(`localhost:${via.port}`).caCert(Buffer.from(platform.caPem))
  // An SDK that keeps trying to reconnect would keep the test process alive.
  let reconnect = true
  builder.handleDisconnection(() => reconnect)
  configure(builder)
  const session = await builder.connect()
  platform.beforeStop(() => {
    reconnect = false
    // Closing twice is an error to the SDK.
    return session.close().catch(() => {})
  })
  return session
}

async function serveHttp(t: TestContext, listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await startHttp(t, listener)}`
}

async function serveTcp(t: TestContext, listener: (socket: Socket) => void): Promise<string> {
  return `127.0.0.1:${await startTcp(t, listener)}`
}

const hello: RequestListener = (request, response) => response.end(`hello ${request.url}`)
const echo = (socket: Socket) => socket.pipe(socket)

/** Sends one request with `Connection: close` and returns the raw response. */
async function request(tunnel: Tunnel, path = '/', client: Partial<ClientInfo> = {}): Promise<string> {
  const probe = new Probe(tunnel.open({ ...endpoint, ...client }))
  probe.stream.write(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`))
  await probe.until((p) => p.ended || p.closed, 'the end of the answer')
  probe.stream.end()
  return probe.bytes.toString()
}

function tunnelAt(platform: Platform, proto: 'http' | 'https' | 'tls', host: string): Tunnel {
  const tunnel = platform.registry.directory.atHost(proto, host)?.current
  assert.ok(tunnel, `no ${proto} tunnel at ${host}`)
  return tunnel
}

test('an https listener gets a random name and serves requests', async (t) => {
  const platform = await startPlatform(t)
  const session = await connectSdk(platform)

  const listener = await session.httpEndpoint().listenAndForward(await serveHttp(t, hello))
  const url = listener.url()!

  assert.match(url, /^https:\/\/[a-z]+-[a-z]+-[a-z0-9]{5}\.adit\.test$/)
  assert.match(
    await request(tunnelAt(platform, 'https', url.slice(8)), '/a'),
    /^HTTP\/1\.1 200 OK[\s\S]*hello \/a$/,
  )
})

test('the one-call form works too, as an http listener on a requested name', async (t) => {
  const platform = await startPlatform(t)

  const listener = await ngrok.forward({
    addr: await serveHttp(t, hello),
    authtoken: TOKEN,
    server_addr: platform.addr,
    session_ca_cert: platform.caPem,
    schemes: ['HTTP'],
    domain: 'app.adit.test',
    force_new_session: true,
    session_metadata: 'of the session',
    metadata: 'of the tunnel',
  })
  const answer = await request(tunnelAt(platform, 'http', 'app.adit.test'), '/b', { proto: 'http' })
  const [live] = platform.registry.sessionsOf('ac_1')
  const tunnel = platform.registry.directory.atHost('http', 'app.adit.test')!.current
  await listener.close()

  assert.equal(listener.url(), 'http://app.adit.test')
  assert.match(answer, /hello \/b$/)
  assert.deepEqual([live!.metadata, tunnel.metadata], ['of the session', 'of the tunnel'])
  assert.equal(live!.agentVersion, '1.7.0')
  await eventually(
    () => platform.registry.directory.atHost('http', 'app.adit.test')?.current === undefined,
    'the unbind',
  )
})

test('a tcp listener carries bytes and half-closes both ways', async (t) => {
  const platform = await startPlatform(t)
  const session = await connectSdk(platform)
  const listener = await session.tcpEndpoint().listenAndForward(`tcp://${await serveTcp(t, echo)}`)

  const probe = new Probe(
    platform.registry.directory
      .atPort(20_000)!
      .next()
      .open({ ...endpoint, proto: 'tcp' }),
  )
  probe.stream.write(Buffer.from('ping'))
  await probe.until((p) => p.received === 4, 'the echo')
  probe.stream.end()
  await probe.until((p) => p.closed, 'the end')

  assert.equal(listener.url(), 'tcp://tcp.adit.test:20000')
  assert.equal(probe.bytes.toString(), 'ping')
  assert.equal(probe.closeError, undefined)
})

test('a tls listener gets the client’s bytes unchanged', async (t) => {
  const platform = await startPlatform(t)
  const session = await connectSdk(platform)
  const listener = await session
    .tlsEndpoint()
    .domain('secure.adit.test')
    .listenAndForward(`tls://${await serveTcp(t, echo)}`)

  const tunnel = tunnelAt(platform, 'tls', 'secure.adit.test')

  assert.equal(listener.url(), 'tls://secure.adit.test')
  assert.equal(tunnel.options.tlsTermination, undefined)
})

test('a tls listener may delegate termination to the edge, with its own certificate', async (t) => {
  const platform = await startPlatform(t)
  const session = await connectSdk(platform)
  const pem = Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n')

  await session
    .tlsEndpoint()
    .domain('a.adit.test')
    .termination(pem, pem)
    .listenAndForward('tls://127.0.0.1:1')

  assert.deepEqual(tunnelAt(platform, 'tls', 'a.adit.test').options.tlsTermination, {
    certPem: pem.toString(),
    keyPem: pem.toString(),
  })
})

test('a labelled listener is found by its labels and serves an edge', async (t) => {
  const platform = await startPlatform(t)
  const session = await connectSdk(platform)
  const listener = await session
    .labeledListener()
    .label('edge', 'edghts_1')
    .label('zone', 'a')
    .metadata('m')
    .listenAndForward(await serveHttp(t, hello))

  const [tunnel] = platform.registry.directory.findLabelled('ac_1', { edge: 'edghts_1' })

  assert.equal(listener.url(), null)
  assert.deepEqual(tunnel!.address.labels, { edge: 'edghts_1', zone: 'a' })
  assert.match(await request(tunnel!, '/l', { via: 'https-edge' }), /hello \/l$/)
})

test('the options of a listener reach the tunnel', async (t) => {
  const platform = await startPlatform(t)
  const session = await connectSdk(platform)

  await session
    .httpEndpoint()
    .domain('all.adit.test')
    .compression()
    .websocketTcpConversion()
    .circuitBreaker(0.5)
    .basicAuth('user', 'password')
    .allowCidr('10.0.0.0/8')
    .denyCidr('10.1.0.0/16')
    .requestHeader('X-In', 'a:b')
    .removeResponseHeader('Server')
    .allowUserAgent('curl.*')
    .oidc('https://id.test', 'client', 'secret', ['me@ex.com'], [], ['openid'])
    .webhookVerification('github', 'hook')
    .poolingEnabled(true)
    .proxyProto('2')
    .metadata('meta')
    .listenAndForward(nowhere)

  const tunnel = tunnelAt(platform, 'https', 'all.adit.test')
  assert.equal(tunnel.poolingEnabled, true)
  assert.equal(tunnel.forwardsTo, `${nowhere}/`)
  assert.deepEqual(tunnel.options, {
    proxyProto: 2,
    ipRestriction: { allow: ['10.0.0.0/8'], deny: ['10.1.0.0/16'] },
    basicAuth: [{ username: 'user', password: 'password' }],
    requestHeaders: { add: [['x-in', 'a:b']], remove: [] },
    responseHeaders: { add: [], remove: ['server'] },
    compression: true,
    websocketTcpConverter: true,
    circuitBreaker: { errorThreshold: 0.5 },
    oidc: {
      issuerUrl: 'https://id.test',
      clientId: 'client',
      clientSecret: 'secret',
      allowEmails: ['me@ex.com'],
      allowDomains: [],
      allowGroups: [],
      allowClaims: [],
      scopes: ['openid'],
    },
    webhookVerification: { provider: 'github', secret: 'hook' },
    userAgentFilter: { allow: ['curl.*'], deny: [] },
  })
})

for (const version of [1, 2] as const) {
  test(`a listener with PROXY protocol ${version} gets the header first`, async (t) => {
    const platform = await startPlatform(t)
    const session = await connectSdk(platform)
    const seen: Buffer[] = []
    const address = await serveTcp(t, (socket) => socket.on('data', (chunk: Buffer) => seen.push(chunk)))
    await session.tcpEndpoint().proxyProto(String(version)).listenAndForward(`tcp://${address}`)

    const probe = new Probe(
      platform.registry.directory
        .atPort(20_000)!
        .next()
        .open({ ...endpoint, proto: 'tcp' }),
    )
    probe.stream.write(Buffer.from('payload'))
    await eventually(() => Buffer.concat(seen).includes('payload'), 'the payload upstream')

    const expected = {
      1: Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.9 5000 443\r\npayload').toString('hex'),
      2: `0d0a0d0a000d0a515549540a2111000cc0000201c0000209138801bb${Buffer.from('payload').toString('hex')}`,
    }
    assert.equal(Buffer.concat(seen).toString('hex'), expected[version])
  })
}

test('five megabytes pass unharmed in both directions at once', async (t) => {
  const platform = await startPlatform(t)
  const session = await connectSdk(platform)
  await session.tcpEndpoint().listenAndForward(`tcp://${await serveTcp(t, echo)}`)
  const bytes = randomBytes(5_000_000)

  const probe = new Probe(
    platform.registry.directory
      .atPort(20_000)!
      .next()
      .open({ ...endpoint, proto: 'tcp' }),
  )
  for (let offset = 0; offset < bytes.length; offset += 60_000) {
    const { drains } = probe
    if (!probe.stream.write(bytes.subarray(offset, offset + 60_000)))
      await probe.until((p) => p.drains > drains, 'a drain')
  }
  probe.stream.end()
  await probe.until((p) => p.ended, 'the end')

  const digest = (data: Buffer) => createHash('sha256').update(data).digest('hex')
  assert.equal(probe.received, bytes.length)
  assert.equal(digest(probe.bytes), digest(bytes))
})

const rejectedTokens: [token: string, code: string][] = [
  ['nonsense', 'ERR_NGROK_105'],
  [TOKEN.replaceAll('a', 'b'), 'ERR_NGROK_107'],
]

for (const [token, code] of rejectedTokens) {
  test(`a token rejected with ${code} is reported to the application`, async (t) => {
    const platform = await startPlatform(t)

    const failure = await connectSdk(platform, (builder) => builder.authtoken(token)).catch((error) => error)

    assert.equal(failure.errorCode, code)
  })
}

test('rejected binds are reported with their code, and the session continues', async (t) => {
  const platform = await startPlatform(t)
  platform.reservations.set('theirs.ex.com', { id: 'rd_2', accountId: 'ac_2' })
  const session = await connectSdk(platform)
  const other = await connectSdk(platform)
  await other.httpEndpoint().domain('taken.adit.test').listenAndForward(nowhere)
  const codeOf = (attempt: Promise<unknown>) => attempt.then(() => 'none').catch((error) => error.errorCode)

  const codes = [
    await codeOf(session.httpEndpoint().domain('taken.adit.test').listen()),
    await codeOf(session.httpEndpoint().domain('theirs.ex.com').listen()),
    await codeOf(session.httpEndpoint().domain('nobody.ex.com').listen()),
    await codeOf(session.tcpEndpoint().remoteAddr('tcp.adit.test:20050').listen()),
    await codeOf(session.tlsEndpoint().domain('*.ex.com').listen()),
  ]
  platform.registry.updateAcl('cr_1', ['bind:a=b'])
  codes.push(await codeOf(session.labeledListener().label('x', 'y').listen()))
  codes.push(await codeOf(session.labeledListener().label('a', 'b').listenAndForward(nowhere)))

  assert.deepEqual(codes, [
    'ERR_NGROK_334',
    'ERR_NGROK_320',
    'ERR_NGROK_319',
    'ERR_NGROK_307',
    'ERR_NGROK_318',
    'ERR_NGROK_399',
    'none',
  ])
})

test('an upstream that refuses connections is a 502 for HTTP clients and a close for others', async (t) => {
  const platform = await startPlatform(t)
  const session = await connectSdk(platform)
  await session.httpEndpoint().domain('a.adit.test').listenAndForward('http://127.0.0.1:1')
  await session.tcpEndpoint().listenAndForward('tcp://127.0.0.1:1')

  const answer = await request(tunnelAt(platform, 'https', 'a.adit.test'))
  const raw = await request(platform.registry.directory.atPort(20_000)!.next(), '/', { proto: 'tcp' })

  assert.match(answer, /^HTTP\/1\.1 502 /)
  assert.equal(raw, '')
})

test('a client that disconnects frees the upstream connection', async (t) => {
  const platform = await startPlatform(t)
  const session = await connectSdk(platform)
  const ends: string[] = []
  const address = await serveTcp(t, (socket) => {
    socket.on('end', () => {
      ends.push('end')
      socket.end()
    })
    socket.resume()
  })
  await session.tcpEndpoint().listenAndForward(`tcp://${address}`)
  const probe = new Probe(
    platform.registry.directory
      .atPort(20_000)!
      .next()
      .open({ ...endpoint, proto: 'tcp' }),
  )
  probe.stream.write(Buffer.from('half a request'))

  probe.stream.reset()
  await eventually(() => ends.length === 1, 'the end upstream')

  assert.equal(probe.closed, true)
})

test('600 concurrent clients do not end the session: those beyond the limit are queued', async (t) => {
  const platform = await startPlatform(t)
  const session = await connectSdk(platform)
  const responders: (() => void)[] = []
  const upstream = await serveHttp(t, (_request, response) => {
    responders.push(() => response.end('done'))
  })
  await session.httpEndpoint().domain('a.adit.test').listenAndForward(upstream)
  const tunnel = tunnelAt(platform, 'https', 'a.adit.test')

  const answers = Array.from({ length: 600 }, () => request(tunnel))
  await eventually(() => responders.length >= 490, '490 requests upstream', 15_000)
  const maxConcurrent = responders.length
  const answering = setInterval(() => {
    for (const answer of responders.splice(0)) answer()
  }, 5)
  t.after(() => clearInterval(answering))
  const all = await Promise.all(answers)

  assert.ok(maxConcurrent <= 499, `${maxConcurrent} at once`)
  assert.equal(all.filter((text) => text.endsWith('done')).length, 600)
  assert.equal(platform.registry.sessionsOf('ac_1').length, 1)
})

test('a session closed by the application goes silent and is detected by the heartbeat', async (t) => {
  const platform = await startPlatform(t, { gateway: quick })
  const session = await connectSdk(platform, (builder) =>
    builder
      .heartbeatInterval(1)
      .heartbeatTolerance(1)
      .handleDisconnection(() => false),
  )
  await session.httpEndpoint().domain('a.adit.test').listenAndForward(nowhere)

  await session.close()
  await eventually(() => platform.registry.sessionsOf('ac_1').length === 0, 'the end of the session')

  assert.equal(platform.registry.directory.atHost('https', 'a.adit.test')?.current, undefined)
})

test('commands reach an application that handles them; another reports why not', async (t) => {
  const platform = await startPlatform(t)
  const handled: string[] = []
  await connectSdk(platform, (builder) =>
    builder
      .handleStopCommand(() => void handled.push('stop'))
      .handleRestartCommand(() => void handled.push('restart'))
      .handleUpdateCommand(() => void handled.push('update')),
  )
  const [able] = platform.registry.sessionsOf('ac_1')

  const outcomes = [
    await able!.command('restart'),
    await able!.command('update'),
    await able!.command('stop'),
  ]
  await connectSdk(platform)
  const unable = platform.registry.sessionsOf('ac_1').find(({ id }) => id !== able!.id)!
  const outcome = await unable.command('stop')

  assert.deepEqual(outcomes, [{ done: true }, { done: true }, { done: true }])
  assert.deepEqual(handled, ['restart', 'update', 'stop'])
  assert.equal(outcome.done, false)
  assert.equal(outcome.done === false && outcome.because, 'unsupported')
})

test('a cut connection reconnects with the same names', async (t) => {
  const platform = await startPlatform(t)
  const relay = await startRelay(t, platform.port)
  const session = await connectSdk(platform, undefined, relay)
  const upstream = await serveHttp(t, hello)
  const listener = await session.httpEndpoint().listenAndForward(upstream)
  await session.labeledListener().label('app', 'web').listenAndForward(upstream)
  const tcp = await session.tcpEndpoint().listenAndForward(`tcp://${await serveTcp(t, echo)}`)
  const host = listener.url()!.slice(8)
  const firstTunnel = tunnelAt(platform, 'https', host)

  relay.cut()
  await eventually(() => {
    const now = platform.registry.directory.atHost('https', host)?.current
    return (
      now !== undefined &&
      now !== firstTunnel &&
      platform.registry.directory.findLabelled('ac_1', {}).length === 1
    )
  }, 'the return')
  await eventually(
    () => platform.registry.directory.atPort(20_000)?.next() !== undefined,
    'the return of the port',
  )

  assert.match(await request(tunnelAt(platform, 'https', host), '/again'), /hello \/again$/)
  assert.equal(tcp.url(), 'tcp://tcp.adit.test:20000')
  assert.equal(platform.registry.sessionsOf('ac_1').length, 1)
  assert.equal(
    (await request(platform.registry.directory.findLabelled('ac_1', { app: 'web' })[0]!)).endsWith('hello /'),
    true,
  )
})

test('after a server restart agents reconnect with their names', async (t) => {
  const resumeKey = randomBytes(32)
  const first = await startPlatform(t, { resumeKey })
  const session = await connectSdk(first)
  const listener = await session.httpEndpoint().listenAndForward(await serveHttp(t, hello))
  await session.tcpEndpoint().listenAndForward(`tcp://${await serveTcp(t, echo)}`)
  const host = listener.url()!.slice(8)

  await first.gateway.close()
  const second = await startPlatform(t, { resumeKey, previous: first, port: first.port })
  await eventually(() => second.registry.tunnelsOf('ac_1').length === 2, 'the return', 10_000)

  assert.match(await request(tunnelAt(second, 'https', host), '/new'), /hello \/new$/)
  assert.notEqual(second.registry.directory.atPort(20_000)?.next(), undefined)
})

test('one forbidden tunnel does not keep an agent’s other tunnels from resuming', async (t) => {
  const platform = await startPlatform(t)
  const relay = await startRelay(t, platform.port)
  const session = await connectSdk(platform, undefined, relay)
  await session.httpEndpoint().domain('bad.adit.test').listenAndForward(nowhere)
  await session.httpEndpoint().domain('good.adit.test').listenAndForward(nowhere)
  const [live] = platform.registry.sessionsOf('ac_1')

  platform.registry.updateAcl('cr_1', ['bind:good.adit.test'])
  const principal = platform.credentials.get(TOKEN)!
  platform.credentials.set(TOKEN, { ...principal, acl: ['bind:good.adit.test'] })
  relay.cut()
  await eventually(() => {
    const [now] = platform.registry.sessionsOf('ac_1')
    return (
      now !== undefined &&
      now !== live &&
      platform.registry.directory.atHost('https', 'good.adit.test')?.current !== undefined
    )
  }, 'the return of the good one')

  assert.equal(platform.registry.directory.atHost('https', 'bad.adit.test')?.current, undefined)
})

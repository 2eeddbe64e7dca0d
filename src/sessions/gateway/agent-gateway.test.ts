import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { eventually } from '../../../test/support/eventually.ts'
import { startRelay } from '../../../test/support/relay.ts'
import { ConcurrencyLimiter } from '../../base/io/sockets/concurrency-limiter.ts'
import { Secret } from '../../base/values/secret.ts'
import {
  type AgentSession,
  type AgentSessionOptions,
  connectAgentSession,
  HeartbeatTimeout,
  MuxSession,
  type MuxStream,
} from '../../protocol/index.ts'
import { call } from '../../protocol/mux/rpc.ts'
import { agentIdentity, type Platform, startPlatform, TOKEN } from '../testing/platform.ts'

const quick = { minHeartbeatMs: 1 }

/** An agent through any port, such as a relay's. */
async function agentAt(
  t: TestContext,
  platform: Platform,
  port: number,
  options: Partial<AgentSessionOptions> = {},
): Promise<AgentSession> {
  const session = await connectAgentSession({
    host: 'localhost',
    port,
    ca: platform.caPem,
    identity: agentIdentity(),
    onProxy: (_header, stream) => stream.reset(),
    onCommand: async () => {},
    onClose() {},
    ...options,
  })
  t.after(() => session.destroy())
  return session
}

/** The errors of all stopped sessions. */
function stopsOf(platform: Platform): (string | undefined)[] {
  return platform.events.flatMap((event) => (event.type === 'session_stopped' ? [event.error] : []))
}

/** A connected mux session before Auth. */
async function rawAgent(
  t: TestContext,
  platform: Platform,
): Promise<{ mux: MuxSession; closed: Promise<Error | undefined> }> {
  const socket = connectTls({ port: platform.port, host: 'localhost', ca: platform.caPem })
  await once(socket, 'secureConnect')
  let close: (error?: Error) => void
  const closed = new Promise<Error | undefined>((resolve) => {
    close = resolve
  })
  const mux = new MuxSession(socket, { role: 'client', onStream() {}, onClose: (error) => close(error) })
  t.after(() => mux.destroy())
  return { mux, closed }
}

test('the Auth response carries everything an agent displays or stores', async (t) => {
  const platform = await startPlatform(t, {
    gateway: { describeAccount: async (id) => ({ name: `account ${id}`, plan: 'free', banner: 'Hello!' }) },
  })

  const agent = await platform.agent(t)

  const { Extra, ClientId, Version, Error: errorText } = agent.authResponse
  const [session] = platform.registry.sessionsOf('ac_1')
  assert.equal(Version, '3')
  assert.equal(errorText, '')
  assert.match(ClientId, /^[0-9a-f]{32}$/)
  assert.deepEqual(Extra, {
    Version: '0.1.0',
    Region: 'us',
    Cookie: Extra.Cookie,
    AccountName: 'account ac_1',
    PlanName: 'free',
    Banner: 'Hello!',
    SessionDuration: 0,
    DeprecationWarning: null,
    ConnectAddresses: [],
    AgentSessionID: session!.id,
    MaxWindow: 16_777_216,
  })
  assert.match(session!.id, /^ts_[0-9A-Za-z]{27}$/)
  assert.deepEqual(
    [session!.transport, session!.agentVersion, session!.os, session!.metadata, session!.ip],
    ['adit/v2', '0.1.0', 'linux', 'a test', '127.0.0.1'],
  )
})

test('only the adit agent gets the addresses of all nodes: others would open a connection to each', async (t) => {
  const connectAddresses = () => ['one.example.com:4443', 'two.example.com:4443']
  const platform = await startPlatform(t, { gateway: { connectAddresses } })

  const firstParty = await platform.agent(t)
  const other = await platform.agent(t, { identity: agentIdentity({ userAgent: 'ngrok-go/1.2.3' }) })

  assert.deepEqual(
    firstParty.authResponse.Extra.ConnectAddresses,
    connectAddresses().map((ServerAddr) => ({ Region: 'us', ServerAddr })),
  )
  assert.deepEqual(other.authResponse.Extra.ConnectAddresses, [])
})

test('new addresses of the platform are sent once to each agent that opens legs', async (t) => {
  const addresses = ['one.example.com:4443']
  const platform = await startPlatform(t, { gateway: { connectAddresses: () => addresses } })
  const received: (readonly string[])[] = []
  const onAddresses = (list: readonly string[]) => void received.push(list)
  const legged = await platform.agent(t, { identity: agentIdentity({ maxLegs: 4 }), onAddresses })
  const { ClientId: clientId, Extra } = legged.authResponse
  const leg = { sessionId: Extra.AgentSessionID, number: 1 }
  const identity = agentIdentity({ maxLegs: 4, clientId, cookie: Extra.Cookie, leg })
  const second = await platform.agent(t, { identity, onAddresses })
  const single = await platform.agent(t, { onAddresses })

  addresses.push('two.example.com:4443')
  platform.gateway.announceAddresses()
  // Every connection has answered, after the announcement.
  for (const agent of [legged, second, single]) await agent.srvInfo()

  assert.deepEqual(received, [addresses])
})

test('an agent that does not mention windows is promised nothing about them', async (t) => {
  const platform = await startPlatform(t)

  const agent = await platform.agent(t, { maxWindow: 0 })

  assert.ok(!('MaxWindow' in agent.authResponse.Extra))
})

test('an account may hold as many sessions as are free, so that other accounts still get in', async (t) => {
  const sessions = new ConcurrencyLimiter({ total: 4 })
  const platform = await startPlatform(t, { gateway: { sessions } })
  const other = `${'b'.repeat(27)}_${'1'.repeat(43)}`
  const neighbour = { accountId: 'ac_2', credentialId: 'cr_2', ownerId: 'usr_2', acl: [] }
  platform.credentials.set(other, neighbour)
  const first = await platform.agent(t)
  await platform.agent(t)

  await assert.rejects(platform.agent(t), { number: 108, message: /as many sessions/ })
  await platform.agent(t, { identity: agentIdentity({ authtoken: new Secret(other) }) })
  const during = [platform.registry.sessionsOf('ac_1').length, platform.registry.sessionsOf('ac_2').length]
  first.close()
  await eventually(() => platform.registry.sessionsOf('ac_1').length === 1, 'the session has ended')

  assert.deepEqual(during, [2, 1])
  await eventually(() => {
    const release = sessions.acquire('ac_1')
    release?.()
    return release !== undefined
  }, 'the slot is released')
  await platform.agent(t)
})

test('a reconnecting agent gets a higher fence each time, whatever the clock says', async (t) => {
  const platform = await startPlatform(t)
  const fences: number[] = []
  let identity = agentIdentity()
  for (let count = 0; count < 3; count++) {
    const agent = await platform.agent(t, { identity })
    const { ClientId: clientId, Extra } = agent.authResponse
    fences.push(platform.registry.session('ac_1', Extra.AgentSessionID)!.fence!)
    identity = agentIdentity({ clientId, cookie: Extra.Cookie })
    agent.close()
  }

  assert.deepEqual(fences, [1, 2, 3])
})

test('before Auth an agent gets the region and nothing else', async (t) => {
  const platform = await startPlatform(t)
  const { mux } = await rawAgent(t, platform)

  const info = await call(mux, 8, {}, 2000)
  const bind = await call(mux, 1, { Proto: 'http' }, 2000)
  const unknown = await call(mux, 77, {}, 2000)

  assert.deepEqual(info, { Region: 'us' })
  assert.match(String(bind.Error), /not authenticated/)
  assert.match(String(unknown.Error), /not authenticated/)
})

const rejectedTokens: [what: string, token: string, code: RegExp][] = [
  ['a malformed token', 'nonsense', /ERR_NGROK_105/],
  ['no token', '', /ERR_NGROK_105/],
  ['an unknown token', TOKEN.replaceAll('a', 'b'), /ERR_NGROK_107/],
]

for (const [what, Authtoken, code] of rejectedTokens) {
  test(`${what} is rejected in a form every SDK can decode, then the connection closes`, async (t) => {
    const platform = await startPlatform(t)
    const { mux, closed } = await rawAgent(t, platform)

    const answer = await call(mux, 0, { Version: ['3'], ClientId: '', Extra: { Authtoken } }, 2000)
    await closed

    assert.match(String(answer.Error), code)
    assert.equal(answer.Version, '3')
    assert.equal(answer.ClientId, '')
    assert.equal(typeof answer.Extra, 'object')
    assert.deepEqual(platform.registry.sessionsOf('ac_1'), [])
  })
}

test('an Auth that exceeds a limit is rejected with its number', async (t) => {
  const platform = await startPlatform(t)
  const extra = (fields: object) => ({ Version: ['3'], ClientId: '', Extra: { Authtoken: TOKEN, ...fields } })
  const cases: [message: object, code: RegExp][] = [
    [extra({ Metadata: 'x'.repeat(4097) }), /ERR_NGROK_100/],
    [extra({ HeartbeatInterval: 1000 }), /ERR_NGROK_111/],
    [extra({ HeartbeatTolerance: 1000 }), /ERR_NGROK_112/],
    [{ Version: 3 }, /ERR_NGROK_109/],
  ]

  for (const [message, code] of cases) {
    const { mux } = await rawAgent(t, platform)
    const answer = await call(mux, 0, message, 2000)

    assert.match(String(answer.Error), code)
  }
})

test('a failing authentication backend does not reject the token', async (t) => {
  const platform = await startPlatform(t, {
    gateway: { authenticate: () => Promise.reject(new Error('the database is unavailable')) },
  })

  await assert.rejects(platform.agent(t), (error: Error) => /cannot answer at the moment/.test(error.message))
})

test('a connection that does not authenticate in time is closed with the reason', async (t) => {
  const platform = await startPlatform(t, { gateway: { limits: { authTimeoutMs: 30 } } })
  const { closed } = await rawAgent(t, platform)

  const error = await closed

  assert.match(error!.message, /Not authenticated within 30 ms/)
  assert.equal(platform.gateway.connections, 0)
})

test('a connection that does not finish its handshake in time is closed', async (t) => {
  const platform = await startPlatform(t, { gateway: { limits: { handshakeTimeoutMs: 30 } } })
  const socket = connect(platform.port, '127.0.0.1')

  socket.resume()
  await once(socket, 'close')

  assert.ok(socket.destroyed)
})

test('bytes that are not TLS, and connections reset during the handshake, affect no other connection', async (t) => {
  const platform = await startPlatform(t)
  const hellos = [
    'GET / HTTP/1.1\r\n\r\n',
    '\x16\x03\x01\xff\xff',
    '\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00',
    '\0'.repeat(1000),
  ]

  for (const hello of hellos) {
    const socket = connect(platform.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(hello, 'latin1')
    await once(socket, 'connect')
    setImmediate(() => socket.resetAndDestroy())
    await once(socket, 'close')
  }

  assert.ok((await platform.agent(t)).authResponse.ClientId)
})

test('unauthenticated connections per client are limited; authenticated agents do not count', async (t) => {
  const platform = await startPlatform(t, { gateway: { limits: { unauthenticatedPerClient: 2 } } })
  await rawAgent(t, platform)
  await platform.agent(t)
  await platform.agent(t)
  await rawAgent(t, platform)

  const tooMany = connectTls({ port: platform.port, host: 'localhost', ca: platform.caPem })
  tooMany.on('error', () => {})
  await new Promise((resolve) => tooMany.once('close', resolve))

  assert.equal(tooMany.getProtocol(), null)
  assert.equal(platform.registry.sessionsOf('ac_1').length, 2)
})

/** Tries to log in with an unknown token; undefined when the connection was rejected. */
async function guess(t: TestContext, platform: Platform): Promise<string | undefined> {
  try {
    const { mux } = await rawAgent(t, platform)
    const answer = await call(mux, 0, { Version: ['3'], ClientId: '', Extra: { Authtoken: 'a guess' } }, 5000)
    return String(answer.Error)
  } catch {
    return undefined
  }
}

const strict = { perFailureMs: 10_000, blockThresholdMs: 30_000, maxMs: 60_000 }

test('a client that keeps guessing tokens is rejected until its penalty has passed', async (t) => {
  let now = 0
  const clock = { now: () => Date.now(), monotonic: () => now }
  const platform = await startPlatform(t, { gateway: { authThrottle: strict, clock } })

  for (let guesses = 0; guesses < 3; guesses++) assert.match((await guess(t, platform)) ?? '', /NGROK_105/)
  const blocked = await guess(t, platform)
  now = 29_000
  const stillBlocked = await guess(t, platform)
  now = 31_000

  assert.deepEqual([blocked, stillBlocked], [undefined, undefined])
  assert.ok((await platform.agent(t)).authResponse.ClientId)
})

test('agents get in from a blocked address while one of them is connected from it', async (t) => {
  const platform = await startPlatform(t, { gateway: { authThrottle: strict, limits: { authDelayMs: 50 } } })
  const first = await platform.agent(t)

  for (let guesses = 0; guesses < 5; guesses++) assert.match((await guess(t, platform)) ?? '', /NGROK_105/)
  const second = await platform.agent(t)
  first.close()
  second.close()
  await eventually(() => platform.gateway.connections === 0, 'no connections')
  const alone = await guess(t, platform)

  assert.ok(second.authResponse.ClientId)
  assert.equal(alone, undefined)
})

test('an agent behind a dead link gets its name back at once, and the stale session is closed', async (t) => {
  const platform = await startPlatform(t, { gateway: quick })
  const relay = await startRelay(t, platform.port)
  const heartbeat = { intervalMs: 300, toleranceMs: 700 }
  const old = await agentAt(t, platform, relay.port, { heartbeat })
  const bound = await old.bind({ Proto: 'https', Opts: { Subdomain: 'a' } })
  const stale = platform.registry.directory.atHost('https', 'a.adit.test')!.current
  relay.freeze()

  const identity = agentIdentity({
    clientId: old.authResponse.ClientId,
    cookie: old.authResponse.Extra.Cookie,
  })
  const back = await agentAt(t, platform, platform.port, { identity, heartbeat })
  const again = await back.bind({
    Proto: 'https',
    Id: bound.Id,
    Opts: bound.Opts,
    Extra: { Token: bound.Extra.Token },
  })

  const tunnel = platform.registry.directory.atHost('https', 'a.adit.test')!.current
  assert.equal(again.URL, bound.URL)
  assert.equal(again.Id, bound.Id)
  assert.equal(back.authResponse.ClientId, old.authResponse.ClientId)
  assert.notEqual(tunnel.sessionId, stale.sessionId)
  await eventually(() => platform.registry.sessionsOf('ac_1').length === 1, 'the end of the stale session')
  assert.equal(platform.registry.directory.atHost('https', 'a.adit.test')?.current, tunnel)
})

test('both sides detect a dead link', async (t) => {
  const platform = await startPlatform(t, { gateway: quick })
  const relay = await startRelay(t, platform.port)
  let lost: Error | undefined
  const heartbeat = { intervalMs: 50, toleranceMs: 100 }
  await agentAt(t, platform, relay.port, {
    heartbeat,
    onClose: (error) => {
      lost = error
    },
  })

  relay.freeze()
  await eventually(() => lost !== undefined && platform.registry.sessionsOf('ac_1').length === 0, 'both ends')

  assert.ok(lost instanceof HeartbeatTimeout)
})

test('a silent agent’s names enter a grace period, as after a broken connection', async (t) => {
  const platform = await startPlatform(t, { gateway: quick })
  const relay = await startRelay(t, platform.port)
  const old = await agentAt(t, platform, relay.port, { heartbeat: { intervalMs: 50, toleranceMs: 100 } })
  await old.bind({ Proto: 'https', Opts: { Subdomain: 'a' } })
  relay.freeze()
  await eventually(() => platform.registry.sessionsOf('ac_1').length === 0, 'the end of the session')

  platform.credentials.set(TOKEN.replaceAll('a', 'c'), {
    accountId: 'ac_2',
    credentialId: 'cr_2',
    ownerId: 'usr_2',
    acl: [],
  })
  const identity = agentIdentity({ authtoken: new Secret(TOKEN.replaceAll('a', 'c')) })
  const other = await platform.agent(t, { identity })

  await assert.rejects(other.bind({ Proto: 'https', Opts: { Subdomain: 'a' } }), { number: 334 })
})

test('a client id without its cookie takes over nothing', async (t) => {
  const platform = await startPlatform(t)
  const owner = await platform.agent(t)
  await owner.bind({ Proto: 'https', Opts: { Subdomain: 'a' } })
  platform.credentials.set(TOKEN.replaceAll('a', 'c'), {
    accountId: 'ac_1',
    credentialId: 'cr_2',
    ownerId: 'usr_1',
    acl: [],
  })
  const { ClientId: clientId, Extra } = owner.authResponse
  const impostors = [
    agentIdentity({ clientId }),
    agentIdentity({ clientId, cookie: `${Extra.Cookie.slice(0, -2)}AA` }),
    agentIdentity({ clientId, cookie: Extra.Cookie, authtoken: new Secret(TOKEN.replaceAll('a', 'c')) }),
  ]

  for (const identity of impostors) {
    const impostor = await platform.agent(t, { identity })

    assert.notEqual(impostor.authResponse.ClientId, clientId)
    await assert.rejects(impostor.bind({ Proto: 'https', Opts: { Subdomain: 'a' } }), { number: 334 })
  }
})

test('after a server restart an agent gets back the addresses assigned to it', async (t) => {
  const resumeKey = Buffer.alloc(32, 7)
  const first = await startPlatform(t, { resumeKey })
  const agent = await first.agent(t)
  const name = await agent.bind({ Proto: 'https', Opts: {} })
  await agent.bind({ Proto: 'tcp', Opts: {} })
  const port = await agent.bind({ Proto: 'tcp', Opts: {} })
  const { ClientId: clientId, Extra } = agent.authResponse
  await first.gateway.close()
  const second = await startPlatform(t, { resumeKey, previous: first })

  const back = await second.agent(t, { identity: agentIdentity({ clientId, cookie: Extra.Cookie }) })
  const rebinds = []
  for (const { Id, Proto, Opts, Extra } of [name, port]) {
    rebinds.push(await back.bind({ Id, Proto, Opts, Extra: { Token: Extra.Token } }))
  }
  const withoutOpts = await back.bind({ Proto: 'tcp', Id: port.Id, Extra: { Token: port.Extra.Token } })

  assert.equal(back.authResponse.ClientId, clientId)
  assert.deepEqual(
    rebinds.map(({ Id, URL }) => [Id, URL]),
    [
      [name.Id, name.URL],
      [port.Id, port.URL],
    ],
  )
  assert.equal(withoutOpts.URL, port.URL)
  const stranger = await second.agent(t)
  await assert.rejects(stranger.bind({ Proto: 'tcp', Opts: port.Opts }), { number: 307 })
})

test('the names of a lost agent get a grace period; after GOAWAY they do not', async (t) => {
  const platform = await startPlatform(t)
  const other = TOKEN.replaceAll('a', 'c')
  platform.credentials.set(other, { accountId: 'ac_2', credentialId: 'cr_2', ownerId: 'usr_2', acl: [] })
  const stranger = await platform.agent(t, { identity: agentIdentity({ authtoken: new Secret(other) }) })
  const lost = await platform.agent(t)
  const orderly = await platform.agent(t)
  await lost.bind({ Proto: 'https', Opts: { Subdomain: 'lost' } })
  await orderly.bind({ Proto: 'https', Opts: { Subdomain: 'polite' } })

  lost.destroy()
  orderly.close()
  await eventually(() => platform.registry.sessionsOf('ac_1').length === 0, 'both ends')

  await assert.rejects(stranger.bind({ Proto: 'https', Opts: { Subdomain: 'lost' } }), { number: 334 })
  await stranger.bind({ Proto: 'https', Opts: { Subdomain: 'polite' } })
  const back = await platform.agent(t)
  await back.bind({ Proto: 'https', Opts: { Subdomain: 'lost' } })
})

test('a session reports its agent and where it connected', async (t) => {
  const platform = await startPlatform(t)
  const agent = await connectAgentSession({
    ...{ host: 'localhost', servername: 'localhost', port: platform.port, ca: platform.caPem },
    identity: agentIdentity(),
    onProxy: (_header, stream) => stream.reset(),
    onCommand: async () => {},
    onClose() {},
  })
  t.after(() => agent.destroy())

  const [session] = platform.registry.sessionsOf('ac_1')

  assert.ok(session)
  assert.deepEqual(
    [session.userAgent, session.os, session.arch, session.ingressHostname, session.ingressIp],
    ['adit/0.1.0', 'linux', 'x64', 'localhost', '127.0.0.1'],
  )
})

test('deleting a credential ends its sessions with the reason', async (t) => {
  const platform = await startPlatform(t)
  let ended: Error | undefined
  const agent = await platform.agent(t, {
    onClose: (error) => {
      ended = error
    },
  })
  await agent.bind({ Proto: 'https', Opts: { Subdomain: 'a' } })

  platform.registry.revokeCredential('cr_1', 'The credential was deleted.')
  await eventually(() => ended !== undefined, 'the end at the agent')

  assert.match(ended!.message, /The credential was deleted/)
  assert.equal(platform.registry.directory.atHost('https', 'a.adit.test')?.current, undefined)
  assert.deepEqual(
    platform.events.map(({ type }) => type),
    [
      'session_started',
      'legs_changed',
      'tunnel_started',
      'tunnel_stopped',
      'session_stopped',
      'legs_changed',
    ],
  )
  assert.deepEqual(stopsOf(platform), ['The credential was deleted.'])
})

test('the end of a session has a reason unless the agent sent GOAWAY', async (t) => {
  const platform = await startPlatform(t)
  const orderly = await platform.agent(t)
  orderly.close()
  await eventually(() => stopsOf(platform).length === 1, 'the orderly end')
  const lost = await platform.agent(t)
  lost.destroy()
  await eventually(() => stopsOf(platform).length === 2, 'the lost connection')

  const [orderlyReason, lostReason] = stopsOf(platform)
  assert.equal(orderlyReason, undefined)
  assert.match(lostReason!, /connection/)
})

test('a tunnel that new rules forbid is stopped; when its agent reconnects, its other tunnels resume', async (t) => {
  const platform = await startPlatform(t)
  const stopped: string[] = []
  const agent = await platform.agent(t, {
    onCommand: async (command) => {
      if (command.name === 'stopTunnel') stopped.push(command.id)
    },
  })
  const bad = await agent.bind({ Proto: 'https', Opts: { Subdomain: 'bad' } })
  await agent.bind({ Proto: 'https', Opts: { Subdomain: 'good' } })

  platform.registry.updateAcl('cr_1', ['bind:good.adit.test'])
  await eventually(() => stopped.length === 1, 'the update at the agent')
  const again = await agent.bind({
    Proto: 'https',
    Id: bad.Id,
    Opts: bad.Opts,
    Extra: { Token: bad.Extra.Token },
  })

  assert.deepEqual(stopped, [bad.Id])
  assert.deepEqual([again.Id, again.URL], [bad.Id, bad.URL])
  assert.equal(platform.registry.directory.atHost('https', 'bad.adit.test')?.current, undefined)
  assert.notEqual(platform.registry.directory.atHost('https', 'good.adit.test')?.current, undefined)
  await assert.rejects(agent.bind({ Proto: 'https', Opts: { Subdomain: 'bad' } }), { number: 316 })
  await agent.unbind(bad.Id)
})

test('commands reach the agent, and each kind of failure is reported as such', async (t) => {
  const platform = await startPlatform(t)
  const commands: string[] = []
  await platform.agent(t, {
    identity: agentIdentity({ commands: { restart: '', stop: '', update: 'Updates are switched off.' } }),
    onCommand: async (command) => {
      commands.push(command.name)
      if (command.name === 'stop') throw new Error('I would rather not.')
    },
  })
  const [session] = platform.registry.sessionsOf('ac_1')

  const outcomes = [
    await session!.command('restart'),
    await session!.command('stop'),
    await session!.command('update'),
  ]
  session!.end('gone')
  outcomes.push(await session!.command('restart'))

  assert.deepEqual(commands, ['restart', 'stop'])
  assert.deepEqual(outcomes, [
    { done: true },
    { done: false, because: 'failed', reason: 'I would rather not.' },
    { done: false, because: 'unsupported', reason: 'Updates are switched off.' },
    { done: false, because: 'lost', reason: 'The session is closed.' },
  ])
})

test('an agent that reports no capabilities is too old for commands', async (t) => {
  const platform = await startPlatform(t)
  const { mux } = await rawAgent(t, platform)
  await call(mux, 0, { Version: ['3'], ClientId: '', Extra: { AuthToken: TOKEN } }, 2000)
  const [session] = platform.registry.sessionsOf('ac_1')

  const outcome = await session!.command('stop')

  assert.deepEqual(outcome, {
    done: false,
    because: 'unsupported',
    reason: 'The agent is too old to know the command stop.',
  })
})

test('unbinding twice, or an unknown id, succeeds', async (t) => {
  const platform = await startPlatform(t)
  const agent = await platform.agent(t)
  const bound = await agent.bind({ Proto: 'https', Opts: { Subdomain: 'a' } })

  await agent.unbind(bound.Id)
  await agent.unbind(bound.Id)
  await agent.unbind('never')

  assert.equal(platform.registry.directory.atHost('https', 'a.adit.test')?.current, undefined)
})

test('an agent patches the metadata of its own tunnels only', async (t) => {
  const platform = await startPlatform(t)
  const agent = await platform.agent(t)
  const bound = await agent.bind({
    Proto: 'https',
    Opts: { Subdomain: 'a' },
    Extra: { Name: 'old', Metadata: 'keep' },
  })
  const TunnelId = bound.Extra.TunnelID
  const stranger = await platform.agent(t)

  await agent.patchTunnelState({
    TunnelId,
    Name: 'new',
    Description: 'd',
    PoolingEnabled: true,
    PoolingWeight: 7,
  })

  const tunnel = platform.registry.directory.atHost('https', 'a.adit.test')!.current
  assert.deepEqual(
    [tunnel.name, tunnel.description, tunnel.metadata, tunnel.poolingEnabled, tunnel.poolingWeight],
    ['new', 'd', 'keep', true, 7],
  )
  await assert.rejects(stranger.patchTunnelState({ TunnelId, Name: 'mine' }), { number: 333 })
  await assert.rejects(agent.patchTunnelState({ TunnelId, PoolingWeight: 10_001 }), /PoolingWeight.*10000/)
  await assert.rejects(agent.patchTunnelState({ TunnelId, Metadata: 'x'.repeat(4097) }), /4096 bytes/)
})

test('an agent replaces and removes the traffic policy of a tunnel that stays bound', async (t) => {
  const platform = await startPlatform(t)
  const agent = await platform.agent(t)
  const TrafficPolicy = 'on_http_request: [{actions: [{type: deny}]}]'
  const bound = await agent.bind({ Proto: 'https', Opts: { Subdomain: 'a', TrafficPolicy } })
  const TunnelId = bound.Extra.TunnelID
  const tunnel = platform.registry.directory.atHost('https', 'a.adit.test')!.current

  const policies = [tunnel.options.trafficPolicy]
  await agent.patchTunnelState({ TunnelId, TrafficPolicy: `${TrafficPolicy} ` })
  policies.push(tunnel.options.trafficPolicy)
  await assert.rejects(agent.patchTunnelState({ TunnelId, Name: 'x', TrafficPolicy: '[]' }), { number: 2236 })
  policies.push(tunnel.options.trafficPolicy)
  await agent.patchTunnelState({ TunnelId, TrafficPolicy: '' })
  policies.push(tunnel.options.trafficPolicy)

  assert.deepEqual(policies, [TrafficPolicy, `${TrafficPolicy} `, `${TrafficPolicy} `, undefined])
  assert.equal(tunnel.name, '')
  assert.equal(platform.registry.directory.atHost('https', 'a.adit.test')?.current, tunnel)
})

test('a policy with the cookies of a foreign domain is rejected by a patch as by a bind', async (t) => {
  const platform = await startPlatform(t)
  platform.reservations.set('*.own.example', { id: 'rd_1', accountId: 'ac_1' })
  platform.reservations.set('*.other.example', { id: 'rd_2', accountId: 'ac_2' })
  const agent = await platform.agent(t)
  const policyWith = (auth_cookie_domain: string) => {
    const config = { provider: 'github', client_id: 'a', client_secret: 'b', auth_cookie_domain }
    return JSON.stringify({ on_http_request: [{ actions: [{ type: 'oauth', config }] }] })
  }
  const Opts = { Domain: 'a.own.example' }
  const bound = await agent.bind({ Proto: 'https', Opts })
  const TunnelId = bound.Extra.TunnelID
  const tunnel = platform.registry.directory.atHost('https', 'a.own.example')!.current

  await agent.patchTunnelState({ TunnelId, TrafficPolicy: policyWith('own.example') })
  for (const domain of ['other.example', 'b.own.example', 'unreserved.example']) {
    const TrafficPolicy = policyWith(domain)
    const rejection = await agent
      .bind({ Proto: 'https', Opts: { ...Opts, TrafficPolicy } })
      .catch((error) => error)
    assert.equal(rejection.number, 2241)
    await assert.rejects(
      agent.patchTunnelState({ TunnelId, Name: 'x', PoolingEnabled: true, TrafficPolicy }),
      {
        number: 2241,
        message: rejection.message,
      },
    )
  }

  assert.equal(tunnel.options.trafficPolicy, policyWith('own.example'))
  assert.deepEqual([tunnel.name, tunnel.poolingEnabled], ['', false])
})

test('closing the gateway notifies every agent and releases the port', async (t) => {
  const platform = await startPlatform(t)
  const reasons: string[] = []
  await platform.agent(t, { onClose: (error) => reasons.push(error?.message ?? '') })
  const silent = connect(platform.port, '127.0.0.1')
  silent.on('error', () => {})
  await once(silent, 'connect')

  await platform.gateway.close()
  await eventually(() => reasons.length === 1, 'the update at the agent')

  assert.match(reasons[0]!, /shutting down/)
  assert.equal(platform.gateway.connections, 0)
})

test('a proxied stream carries its bind id and the client’s address', async (t) => {
  const platform = await startPlatform(t)
  const headers: object[] = []
  const firsts: string[] = []
  const agent = await platform.agent(t, {
    onProxy(header, stream: MuxStream) {
      headers.push(header)
      stream.sink = {
        onData: (chunk) => void firsts.push(chunk.toString()),
        onEnd() {},
        onDrain() {},
        onClose() {},
      }
    },
  })
  const plain = await agent.bind({ Proto: 'tcp', Opts: { ProxyProto: 1 } })
  const labelled = await agent.startTunnelWithLabel({ Labels: { app: 'web' } })
  const client = {
    clientAddress: '192.0.2.1:5',
    serverAddress: '192.0.2.9:443',
    passthroughTls: false,
  } as const

  platform.registry.directory
    .atPort(20_000)!
    .next()
    .open({ ...client, proto: 'tcp', via: 'endpoint' })
  const [tunnel] = platform.registry.directory.findLabelled('ac_1', { app: 'web' })
  tunnel!.open({ ...client, proto: 'https', via: 'https-edge' })
  tunnel!.open({ ...client, proto: 'tls', via: 'tls-edge', passthroughTls: true })
  tunnel!.open({ ...client, proto: 'tcp', via: 'tcp-edge' })
  await eventually(() => headers.length === 4 && firsts.length === 1, 'all streams')

  const ClientAddr = '192.0.2.1:5'
  assert.deepEqual(headers, [
    { Id: plain.Id, ClientAddr, Proto: 'tcp', EdgeType: '0', PassthroughTLS: false },
    { Id: labelled.Id, ClientAddr, Proto: 'https', EdgeType: '3', PassthroughTLS: false },
    { Id: labelled.Id, ClientAddr, Proto: 'tls', EdgeType: '2', PassthroughTLS: true },
    { Id: labelled.Id, ClientAddr, Proto: 'tcp', EdgeType: '1', PassthroughTLS: false },
  ])
  assert.deepEqual(firsts, ['PROXY TCP4 192.0.2.1 192.0.2.9 5 443\r\n'])
})

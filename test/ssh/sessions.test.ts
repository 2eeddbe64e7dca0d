import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { eventually } from '../support/eventually.ts'
import { startPlatform } from '../support/platform.ts'
import { connectLibrary, makeIdentity, startHttp, startSsh, urlShownBy, withoutOpenSsh } from './openssh.ts'

const skip = withoutOpenSsh

test('the session is listed with its transport, stoppable, and explains what it cannot do', {
  skip,
}, async (t) => {
  const platform = await startPlatform(t)
  const identity = await makeIdentity(t, platform)
  const client = startSsh(
    t,
    platform,
    identity,
    ['-R', 'shop:80:127.0.0.1:9'],
    ['http', '3000', '--metadata', "'the shop'"],
  )
  await client.says(/-> localhost:3000/)

  const [session] = (await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions
  const [tunnel] = (await platform.call('GET', '/tunnels')).body.tunnels
  const restart = await platform.call('POST', `/tunnel_sessions/${session.id}/restart`, { body: {} })
  const update = await platform.call('POST', `/tunnel_sessions/${session.id}/update`, { body: {} })
  const stop = await platform.call('POST', `/tunnel_sessions/${session.id}/stop`, { body: {} })

  assert.equal(session.transport, 'ssh')
  assert.match(session.agent_version, /^OpenSSH_/)
  assert.equal(session.credential.id, identity.credentialId)
  assert.equal(session.metadata, 'the shop')
  assert.equal(tunnel.forwards_to, 'localhost:3000')
  assert.match(restart.body.msg, /SSH client cannot be restarted/)
  assert.match(update.body.msg, /SSH client cannot be updated/)
  assert.equal(stop.status, 204)
  assert.equal(await client.ended(), 1)
  assert.match(client.output(), /The session was stopped through the API/)
  assert.deepEqual((await platform.call('GET', '/tunnels')).body.tunnels, [])
})

test('deleting the credential ends its sessions with the reason', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await makeIdentity(t, platform)
  const client = startSsh(t, platform, identity, ['-R', '80:127.0.0.1:9'])
  await urlShownBy(client)

  await platform.call('DELETE', `/ssh_credentials/${identity.credentialId}`)

  assert.equal(await client.ended(5000), 1)
  assert.match(client.output(), /The credential of this session was deleted/)
})

test('the event of a session tells the client and where it connected to', { skip }, async (t) => {
  const platform = await startPlatform(t, ['--outbound-allow', '127.0.0.1'])
  const told: { event_type: string; object: Record<string, string> }[] = []
  const port = await startHttp(t, (request, response) => {
    let body = ''
    request.on('data', (piece) => {
      body += piece
    })
    request.on('end', () => {
      told.push(...[JSON.parse(body)].flat())
      response.end()
    })
  })
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`
  const { id } = await platform.call.create('/event_destinations', {
    target: { webhook: { url: `http://127.0.0.1:${port}/`, secret } },
  })
  await platform.call.create('/event_subscriptions', {
    sources: [{ type: 'agent_session_start.v0' }],
    destination_ids: [id],
  })

  const client = startSsh(t, platform, await makeIdentity(t, platform), ['-R', '80:127.0.0.1:9'])
  await urlShownBy(client)
  await eventually(() => told.length > 0, 'the event arrives')

  const { transport, agent_ip, ingress_server_ip, ingress_hostname, user_agent } = told[0]!.object
  assert.deepEqual(
    [transport, agent_ip, ingress_server_ip, ingress_hostname],
    ['ssh', '127.0.0.1', '127.0.0.1', ''],
  )
  assert.match(user_agent ?? '', /^OpenSSH_/)
})

test('rules that change take tunnels offline that they no longer allow', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await makeIdentity(t, platform)
  const client = startSsh(t, platform, identity, ['-R', 'one:80:127.0.0.1:9', '-R', 'two:80:127.0.0.1:9'])
  await client.says(/(:\/\/.*){2}/s)

  await platform.call('PATCH', `/ssh_credentials/${identity.credentialId}`, {
    body: { acl: ['bind:one.adit.localhost'] },
  })
  await client.says(
    /two\.adit\.localhost:\d+ is offline: The credential's ACL no longer allows this tunnel/,
    5000,
  )

  const { tunnels } = (await platform.call('GET', '/tunnels')).body
  assert.equal(tunnels.length, 1)
  assert.match(tunnels[0].public_url, /one\.adit\.localhost/)
})

test('a client that is killed frees its name at once, for everyone', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const [first, second] = [await makeIdentity(t, platform), await makeIdentity(t, platform)]
  const killed = startSsh(t, platform, first, ['-R', 'mine:80:127.0.0.1:9'])
  await urlShownBy(killed)

  killed.process.kill('SIGKILL')
  await killed.ended()

  const next = startSsh(t, platform, second, ['-R', 'mine:80:127.0.0.1:9'])
  assert.match(await urlShownBy(next), /^http:\/\/mine\.adit\.localhost/)
})

test('a name in use is refused', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await makeIdentity(t, platform)
  const port = await startHttp(t, (_request, response) => response.end('first'))
  const first = startSsh(t, platform, identity, ['-R', `mine:80:127.0.0.1:${port}`])
  const url = await urlShownBy(first)

  const second = startSsh(t, platform, identity, ['-R', `mine:80:127.0.0.1:${port}`])
  await second.says(/-R mine:80 was refused: .* is already online/)

  assert.equal(await second.ended(), 1)
  assert.equal(await (await platform.fetch(url)).text(), 'first')
})

test('JSON lines tell programs of session, tunnels, refusals and requests', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await makeIdentity(t, platform)
  const port = await startHttp(t, (_request, response) => response.writeHead(404).end('no'))

  const client = startSsh(
    t,
    platform,
    identity,
    ['-T', '-R', `shop:80:127.0.0.1:${port}`, '-R', 'idp:80:127.0.0.1:9'],
    ['http', '--output', 'json'],
  )
  await client.says(/"event":"refused"/)
  await client.says(/"event":"tunnel"/)
  const told = () =>
    client
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
  const tunnel = told().find(({ event }) => event === 'tunnel')
  await platform.fetch(`${tunnel.url}/x%1b[2J`)
  await eventually(() => told().some(({ event }) => event === 'request'), 'the request is told')

  const { event, method, path, status, client_ip, tunnel_id } = told().find(
    ({ event }) => event === 'request',
  )
  assert.deepEqual(
    { event, method, path, status, client_ip, tunnel_id },
    {
      event: 'request',
      method: 'GET',
      path: '/x%1b[2J',
      status: 404,
      client_ip: '127.0.0.1',
      tunnel_id: tunnel.id,
    },
  )
  assert.match(told().find((one) => one.event === 'session').id, /^ts_/)
  assert.match(told().find((one) => one.event === 'refused').reason, /idp\.adit\.localhost/)
})

test('options of the command line act at the edge', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await makeIdentity(t, platform)
  const port = await startHttp(t, (request, response) =>
    response.end(`${request.headers.host} ${request.headers['x-added']}`),
  )

  const client = startSsh(
    t,
    platform,
    identity,
    ['-tt', '-R', `80:127.0.0.1:${port}`],
    [
      'http',
      String(port),
      '--basic-auth',
      'ann:secret-word',
      '--host-header',
      'rewrite',
      '--request-header-add',
      'x-added:yes',
    ],
  )
  const url = await urlShownBy(client)
  const stranger = await platform.fetch(url)
  const ann = await platform.fetch(url, {
    headers: { authorization: `Basic ${Buffer.from('ann:secret-word').toString('base64')}` },
  })

  assert.equal(stranger.status, 401)
  assert.equal(await ann.text(), `localhost:${port} yes`)
  assert.doesNotMatch(client.output(), /secret-word/)
})

test('with a terminal, Ctrl-C ends the session', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await makeIdentity(t, platform)
  const client = startSsh(t, platform, identity, ['-tt', '-R', '80:127.0.0.1:9'])
  await urlShownBy(client)

  client.process.stdin!.write('\u0003')
  await client.ended()

  assert.deepEqual((await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions, [])
})

test('a client whose input has ended stays', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await makeIdentity(t, platform)
  const port = await startHttp(t, (_request, response) => response.end('here'))
  const client = startSsh(t, platform, identity, ['-T', '-R', `80:127.0.0.1:${port}`])
  client.process.stdin!.end()
  const url = await urlShownBy(client)

  const answers = [await platform.fetch(url), await platform.fetch(url)]

  assert.deepEqual(await Promise.all(answers.map((answer) => answer.text())), ['here', 'here'])
  await client.says(/(GET \/ {2}200.*){2}/s)
})

test('a forward that is cancelled gives up its name, the connection stays', async (t) => {
  const platform = await startPlatform(t)
  const client = await connectLibrary(t, platform)
  const forward = promisify(client.forwardIn.bind(client))
  const unforward = promisify(client.unforwardIn.bind(client))
  await forward('mine', 80)
  const before = (await platform.call('GET', '/tunnels')).body.tunnels

  await unforward('mine', 80)

  assert.equal(before.length, 1)
  assert.deepEqual((await platform.call('GET', '/tunnels')).body.tunnels, [])
  assert.equal((await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions.length, 1)
  await forward('mine', 80)
  assert.equal((await platform.call('GET', '/tunnels')).body.tunnels.length, 1)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { connectSsh2Client, createIdentity, openSshSkipReason, readUrl, startSsh } from './openssh.ts'

const skip = openSshSkipReason

test('an SSH session is listed with its transport, can be stopped, and reports unsupported commands', {
  skip,
}, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const client = startSsh(
    t,
    platform,
    identity,
    ['-R', 'shop:80:127.0.0.1:9'],
    ['http', '3000', '--metadata', "'the shop'"],
  )
  await client.waitForOutput(/-> localhost:3000/)

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
  assert.equal(await client.waitForExit(), 1)
  assert.match(client.output(), /The session was stopped through the API/)
  assert.deepEqual((await platform.call('GET', '/tunnels')).body.tunnels, [])
})

test('deleting a credential ends its sessions with the reason', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const client = startSsh(t, platform, identity, ['-R', '80:127.0.0.1:9'])
  await readUrl(client)

  await platform.call('DELETE', `/ssh_credentials/${identity.credentialId}`)

  assert.equal(await client.waitForExit(5000), 1)
  assert.match(client.output(), /The credential of this session was deleted/)
})

test('the event of a session has the client and the ingress address', { skip }, async (t) => {
  const platform = await startPlatform(t, ['--outbound-allow', '127.0.0.1'])
  const receivedEvents: { event_type: string; object: Record<string, string> }[] = []
  const port = await startHttp(t, (request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      receivedEvents.push(...[JSON.parse(body)].flat())
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

  const client = startSsh(t, platform, await createIdentity(platform), ['-R', '80:127.0.0.1:9'])
  await readUrl(client)
  await eventually(() => receivedEvents.length > 0, 'the event arrives')

  const { transport, agent_ip, ingress_server_ip, ingress_hostname, user_agent } = receivedEvents[0]!.object
  assert.deepEqual(
    [transport, agent_ip, ingress_server_ip, ingress_hostname],
    ['ssh', '127.0.0.1', '127.0.0.1', ''],
  )
  assert.match(user_agent ?? '', /^OpenSSH_/)
})

test('tightening an ACL takes tunnels offline that it no longer allows', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const client = startSsh(t, platform, identity, ['-R', 'one:80:127.0.0.1:9', '-R', 'two:80:127.0.0.1:9'])
  await client.waitForOutput(/(:\/\/.*){2}/s)

  await platform.call('PATCH', `/ssh_credentials/${identity.credentialId}`, {
    body: { acl: ['bind:one.adit.localhost'] },
  })
  await client.waitForOutput(
    /two\.adit\.localhost:\d+ is offline: The credential's ACL no longer allows this tunnel/,
    5000,
  )

  const { tunnels } = (await platform.call('GET', '/tunnels')).body
  assert.equal(tunnels.length, 1)
  assert.match(tunnels[0].public_url, /one\.adit\.localhost/)
})

test('a killed client releases its name immediately', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const [first, second] = [await createIdentity(platform), await createIdentity(platform)]
  const killedClient = startSsh(t, platform, first, ['-R', 'mine:80:127.0.0.1:9'])
  await readUrl(killedClient)

  killedClient.process.kill('SIGKILL')
  await killedClient.waitForExit()

  const nextClient = startSsh(t, platform, second, ['-R', 'mine:80:127.0.0.1:9'])
  assert.match(await readUrl(nextClient), /^http:\/\/mine\.adit\.localhost/)
})

test('a name in use is rejected', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const port = await startHttp(t, (_request, response) => response.end('first'))
  const first = startSsh(t, platform, identity, ['-R', `mine:80:127.0.0.1:${port}`])
  const url = await readUrl(first)

  const second = startSsh(t, platform, identity, ['-R', `mine:80:127.0.0.1:${port}`])
  await second.waitForOutput(/-R mine:80 was rejected: .* is already online\. .* \(ERR_ADIT_334\)\r?\n/)

  assert.equal(await second.waitForExit(), 1)
  assert.equal(await (await platform.fetch(url)).text(), 'first')
})

test('JSON output reports session, tunnels, rejected forwards and requests', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const port = await startHttp(t, (_request, response) => response.writeHead(404).end('no'))

  const client = startSsh(
    t,
    platform,
    identity,
    ['-T', '-R', `shop:80:127.0.0.1:${port}`, '-R', 'idp:80:127.0.0.1:9'],
    ['http', '--output', 'json'],
  )
  await client.waitForOutput(/"event":"refused"/)
  await client.waitForOutput(/"event":"tunnel"/)
  const readEvents = () =>
    client
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
  const tunnel = readEvents().find(({ event }) => event === 'tunnel')
  await platform.fetch(`${tunnel.url}/x%1b[2J`)
  await eventually(() => readEvents().some(({ event }) => event === 'request'), 'the request is reported')

  const { event, method, path, status, client_ip, tunnel_id } = readEvents().find(
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
  assert.match(readEvents().find((event) => event.event === 'session').id, /^ts_/)
  const refused = readEvents().find((event) => event.event === 'refused')
  assert.match(refused.reason, /idp\.adit\.localhost/)
  assert.deepEqual([tunnel.forward, refused.forward], ['shop:80', 'idp:80'])
})

test('command line options take effect at the edge', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
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
  const url = await readUrl(client)
  const anonymousResponse = await platform.fetch(url)
  const authorizedResponse = await platform.fetch(url, {
    headers: { authorization: `Basic ${Buffer.from('ann:secret-word').toString('base64')}` },
  })

  assert.equal(anonymousResponse.status, 401)
  assert.equal(await authorizedResponse.text(), `localhost:${port} yes`)
  assert.doesNotMatch(client.output(), /secret-word/)
})

test('with a terminal, Ctrl-C ends the session', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const client = startSsh(t, platform, identity, ['-tt', '-R', '80:127.0.0.1:9'])
  await readUrl(client)

  client.process.stdin!.write('\u0003')
  await client.waitForExit()

  await eventually(
    async () => (await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions.length === 0,
    'the session is gone',
  )
})

test('a client stays connected after its standard input ends', { skip }, async (t) => {
  const platform = await startPlatform(t)
  const identity = await createIdentity(platform)
  const port = await startHttp(t, (_request, response) => response.end('here'))
  const client = startSsh(t, platform, identity, ['-T', '-R', `80:127.0.0.1:${port}`])
  client.process.stdin!.end()
  const url = await readUrl(client)

  const responses = [await platform.fetch(url), await platform.fetch(url)]

  assert.deepEqual(await Promise.all(responses.map((response) => response.text())), ['here', 'here'])
  await client.waitForOutput(/(GET \/ {2}200.*){2}/s)
})

test('a cancelled forward releases its name, and the connection stays open', async (t) => {
  const platform = await startPlatform(t)
  const client = await connectSsh2Client(t, platform)
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

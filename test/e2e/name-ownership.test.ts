import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fetchHost, startAgent } from '../support/agents.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createSecondAccount } from '../support/second-account.ts'

/** The node agents connect to, and the API calls of both accounts: on one node, or across two nodes on one database. */
const platforms = {
  async 'one node on SQLite'(t: TestContext, flags: string[] = []) {
    const node = await startPlatform(t, flags)
    const other = await createSecondAccount(node)
    return { node, ownCall: node.call, other }
  },
  async 'two nodes on PostgreSQL'(t: TestContext, flags: string[] = []) {
    const { url } = await createTestDatabase(t)
    const allFlags = ['--database-url', url, ...flags]
    const node = await startPlatform(t, allFlags)
    const second = await startPlatform(t, [
      ...allFlags,
      '--master-key-file',
      join(node.dataDir, 'master.key'),
    ])
    const { api_url } = second.credentials
    const other = await createSecondAccount(node)
    return {
      node,
      ownCall: createClient(api_url, node.credentials.api_key),
      other: { ...other, call: createClient(api_url, other.apiKey) },
    }
  },
}

for (const [description, start] of Object.entries(platforms)) {
  test(`a name bound by a tunnel of another account cannot be reserved, nor its wildcard or subdomains: ${description}`, async (t) => {
    const { node, ownCall, other } = await start(t)
    const port = await startHttp(t, (_request, response) => response.end('agent'))
    const agent = await startAgent(t, node)
    await agent.forward({ addr: port, url: 'http://taken.adit.localhost' })

    for (const domain of ['taken.adit.localhost', '*.taken.adit.localhost', 'a.taken.adit.localhost']) {
      const { status, body } = await other.call('POST', '/reserved_domains', { body: { domain } })
      assert.equal(status, 409, domain)
      assert.match(body.msg, /in use by another account/)
    }

    assert.deepEqual((await other.call('GET', '/reserved_domains')).body.reserved_domains, [])
    assert.equal((await fetchHost(node, 'taken.adit.localhost')).body, 'agent')
    await ownCall.create('/reserved_domains', { domain: 'taken.adit.localhost' })
    assert.equal((await fetchHost(node, 'taken.adit.localhost')).body, 'agent')
  })

  test(`a released name stays unavailable to other accounts during the cooldown, for binds and reservations: ${description}`, async (t) => {
    const { node, ownCall, other } = await start(t)
    const agent = await startAgent(t, node)
    const tunnel = await agent.forward({ addr: 80, url: 'http://left.adit.localhost' })
    const otherAgent = await startAgent(t, node, other.authtoken)
    const bind = (url: string) => otherAgent.forward({ addr: 80, url })
    await assert.rejects(bind('http://left.adit.localhost'), /already online/)
    await tunnel.close()

    await assert.rejects(bind('http://left.adit.localhost'), /used by another account/)
    await assert.rejects(bind('https://left.adit.localhost'), /used by another account/)
    const body = { domain: 'left.adit.localhost' }
    assert.equal((await other.call('POST', '/reserved_domains', { body })).status, 409)

    await (await agent.forward({ addr: 80, url: 'http://left.adit.localhost' })).close()
    await ownCall.create('/reserved_domains', body)
  })

  test(`a deleted reservation stays unavailable to other accounts during the cooldown: ${description}`, async (t) => {
    const { ownCall, other } = await start(t)
    const reservations = [
      await ownCall.create('/reserved_domains', { domain: 'app.shop.adit.localhost' }),
      await ownCall.create('/reserved_domains', { domain: '*.wild.adit.localhost' }),
    ]
    for (const { id } of reservations) await ownCall('DELETE', `/reserved_domains/${id}`)

    const attempts = ['app.shop', 'shop', 'a.app.shop', 'a.wild'].map((name) => `${name}.adit.localhost`)
    for (const domain of attempts)
      assert.equal((await other.call('POST', '/reserved_domains', { body: { domain } })).status, 409, domain)

    await ownCall.create('/reserved_domains', { domain: 'app.shop.adit.localhost' })
  })

  test(`a deleted custom domain has no cooldown, because its DNS decides who owns it: ${description}`, async (t) => {
    const { ownCall, other } = await start(t)
    const domain = await ownCall.create('/reserved_domains', { domain: 'app.shop.example' })
    await ownCall('DELETE', `/reserved_domains/${domain.id}`)
    const ingress = await ownCall.create('/agent_ingresses', { domain: 'tunnel.corp.example' })
    await ownCall('DELETE', `/agent_ingresses/${ingress.id}`)

    await other.call.create('/reserved_domains', { domain: 'app.shop.example' })
    await other.call.create('/agent_ingresses', { domain: 'tunnel.corp.example' })
  })

  test(`without a cooldown a name is available as soon as its tunnel ends: ${description}`, async (t) => {
    const { node, other } = await start(t, ['--name-cooldown', '0'])
    const agent = await startAgent(t, node)
    for (const name of ['bound', 'reserved'])
      await (await agent.forward({ addr: 80, url: `http://${name}.adit.localhost` })).close()

    const otherAgent = await startAgent(t, node, other.authtoken)
    await otherAgent.forward({ addr: 80, url: 'http://bound.adit.localhost' })
    await other.call.create('/reserved_domains', { domain: 'reserved.adit.localhost' })
  })

  test(`TCP ports of another account are neither reserved nor assigned: ${description}`, async (t) => {
    const first = await findFreePorts(3)
    const { node, ownCall, other } = await start(t, ['--tcp-ports', `${first}-${first + 2}`])
    const agent = await startAgent(t, node)
    const online = await agent.forward({ addr: 9, proto: 'tcp' })
    const closedTunnel = await agent.forward({ addr: 9, proto: 'tcp' })
    const portOf = ({ url }: { url: string }) => Number(url.slice(url.lastIndexOf(':') + 1))
    const takenPorts = [portOf(online), portOf(closedTunnel)]
    await closedTunnel.close()
    const otherAgent = await startAgent(t, node, other.authtoken)

    const otherTunnel = await otherAgent.forward({ addr: 9, proto: 'tcp' })
    const third = portOf(otherTunnel)
    assert.ok(!takenPorts.includes(third))
    await assert.rejects(otherAgent.forward({ addr: 9, proto: 'tcp' }), /No public TCP port is free/)
    assert.equal((await other.call('POST', '/reserved_addrs', { body: {} })).status, 409)
    await otherTunnel.close()
    const { addr } = await other.call.create('/reserved_addrs', {})
    assert.equal(Number(addr.split(':')[1]), third)

    const reboundTunnel = await agent.forward({ addr: 9, proto: 'tcp' })
    assert.equal(portOf(reboundTunnel), takenPorts[1], 'the account gets the port it had before')
    assert.equal((await ownCall('POST', '/reserved_addrs', { body: {} })).status, 409)
  })
}

test('a port reserved by another account is not assigned to a tunnel that requests any port', async (t) => {
  const first = await findFreePorts(3)
  const { node, other } = await platforms['one node on SQLite'](t, ['--tcp-ports', `${first}-${first + 1}`])
  const { addr } = await other.call.create('/reserved_addrs', {})
  const agent = await startAgent(t, node)

  const { url } = await agent.forward({ addr: 9, proto: 'tcp' })

  assert.notEqual(url.split(':').at(-1), addr.split(':')[1])
  await assert.rejects(agent.forward({ addr: 9, proto: 'tcp' }), /No public TCP port is free/)
})

test('the name of an agent that resumes within the grace period stays unavailable to other accounts', async (t) => {
  const { node, other } = await platforms['one node on SQLite'](t, ['--name-cooldown', '0'])
  const port = await startHttp(t, (_request, response) => response.end('agent'))
  const agent = await startAgent(t, node)
  await agent.forward({ addr: port, url: 'http://back.adit.localhost' })
  const { tunnel_sessions } = (await node.call('GET', '/tunnel_sessions')).body

  await node.call('POST', `/tunnel_sessions/${tunnel_sessions[0].id}/restart`)
  const body = { domain: 'back.adit.localhost' }
  assert.equal((await other.call('POST', '/reserved_domains', { body })).status, 409)

  await eventually(async () => (await fetchHost(node, 'back.adit.localhost')).body === 'agent')
})

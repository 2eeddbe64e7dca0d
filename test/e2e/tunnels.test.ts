import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import ngrok from '@ngrok/ngrok'
import { startAgent } from '../support/agents.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'

async function startLocal(t: TestContext, handler: RequestListener): Promise<string> {
  return `127.0.0.1:${await startHttp(t, handler)}`
}

/** Connects the unmodified official SDK to our gateway. */
async function forward(t: TestContext, { credentials }: TestPlatform, options: Record<string, unknown>) {
  const builder = new ngrok.SessionBuilder()
  builder.authtoken(credentials.authtoken).serverAddr(credentials.agent_addr).rootCas(credentials.ca_file)
  const session = await builder.connect()
  t.after(() => session.close())
  const endpoint = options.proto === 'tcp' ? session.tcpEndpoint() : session.httpEndpoint()
  if (typeof options.domain === 'string' && 'domain' in endpoint) endpoint.domain(options.domain)
  if (options.scheme === 'HTTP' && 'scheme' in endpoint) endpoint.scheme('HTTP')
  return endpoint.listenAndForward(String(options.to))
}

test('an HTTPS endpoint of the official SDK reaches the local service', async (t) => {
  const platform = await startPlatform(t)
  const local = await startLocal(t, (request, response) => response.end(`hello ${request.url}`))

  const listener = await forward(t, platform, { to: `http://${local}` })
  const response = await platform.fetch(`${listener.url()}/a`)

  assert.match(listener.url()!, /^https:\/\/[a-z0-9-]+\.adit\.localhost:\d+$/)
  assert.equal(await response.text(), 'hello /a')
})

test('a reserved name is served for its own account', async (t) => {
  const platform = await startPlatform(t)
  const local = await startLocal(t, (_request, response) => response.end('mine'))
  await platform.call.create('/reserved_domains', { domain: 'shop.adit.localhost' })

  const listener = await forward(t, platform, {
    to: `http://${local}`,
    domain: 'shop.adit.localhost',
    scheme: 'HTTP',
  })
  const response = await platform.fetch(listener.url()!)

  assert.equal(await response.text(), 'mine')
  const endpoints = await platform.call('GET', '/endpoints')
  assert.equal(endpoints.body.endpoints[0].hostport.startsWith('shop.adit.localhost:'), true)
})

test('pooled HTTPS endpoints take turns by request, on one connection or on many', async (t) => {
  const platform = await startPlatform(t)
  await platform.call.create('/reserved_domains', { domain: 'pool.adit.localhost' })
  const counts = [0, 0]
  for (const index of counts.keys()) {
    const addr = await startHttp(t, (_request, response) => {
      counts[index]!++
      response.end()
    })
    const agent = await startAgent(t, platform)
    await agent.forward({ addr, url: 'https://pool.adit.localhost', pooling_enabled: true })
  }

  for (const connection of ['keep-alive', 'close']) {
    counts.fill(0)
    for (let request = 0; request < 20; request++) {
      const { port } = new URL(platform.credentials.https_url)
      const response = await platform.fetch(`https://pool.adit.localhost:${port}`, {
        headers: { connection },
      })
      assert.equal(response.status, 200)
      await response.text()
    }
    assert.deepEqual(counts, [10, 10], connection)
  }
})

test('a TCP endpoint forwards bytes, and the API shows session and tunnel', async (t) => {
  const platform = await startPlatform(t)
  const local = await startLocal(t, (_request, response) => response.end('over tcp'))

  const listener = await forward(t, platform, { to: `tcp://${local}`, proto: 'tcp' })
  const response = await fetch(listener.url()!.replace('tcp://', 'http://'))

  assert.equal(await response.text(), 'over tcp')
  const [session] = (await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions
  assert.equal(session.transport, 'adit/v2')
  const [tunnel] = (await platform.call('GET', '/tunnels')).body.tunnels
  assert.equal(tunnel.public_url, listener.url())
  assert.equal(tunnel.tunnel_session.id, session.id)
})

test('deleting a credential ends its sessions', async (t) => {
  const platform = await startPlatform(t)
  const local = await startLocal(t, (_request, response) => response.end('here'))
  const listener = await forward(t, platform, { to: `http://${local}`, scheme: 'HTTP' })
  assert.equal((await platform.fetch(listener.url()!)).status, 200)
  const [session] = (await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions

  await platform.call('DELETE', `/credentials/${session.credential.id}`)

  await eventuallyEqual(async () => (await platform.fetch(listener.url()!)).status, 404)
  assert.deepEqual((await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions, [])
})

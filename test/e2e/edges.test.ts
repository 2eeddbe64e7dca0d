import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import ngrok from '@ngrok/ngrok'
import { eventuallyEqual } from '../support/eventually.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'

async function connectLabelled(
  t: TestContext,
  { credentials }: TestPlatform,
  text: string,
  labels: Record<string, string>,
) {
  const server = createServer((request, response) => response.end(`${text} ${request.url}`)).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  t.after(() => server.close())
  const builder = new ngrok.SessionBuilder()
  builder.authtoken(credentials.authtoken).serverAddr(credentials.agent_addr).rootCas(credentials.ca_file)
  const session = await builder.connect()
  t.after(() => session.close())
  const listener = session.labeledListener()
  for (const [key, value] of Object.entries(labels)) listener.label(key, value)
  await listener.listenAndForward(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

test('an HTTPS edge routes to labelled tunnels by path, and module changes apply immediately', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  await connectLabelled(t, platform, 'tunnel', { app: 'shop' })
  await call.create('/reserved_domains', { domain: 'shop.adit.localhost' })
  const edge = await call.create('/edges/https', { hostports: ['shop.adit.localhost:443'] })
  const group = await call.create('/backends/tunnel_group', { labels: { app: 'shop' } })
  const fixedBackend = await call.create('/backends/http_response', { body: 'fixed', status_code: 418 })
  const route = await call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: group.id },
  })
  await call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'exact_path',
    match: '/teapot',
    backend: { backend_id: fixedBackend.id },
  })
  const url = `https://shop.adit.localhost:${new URL(platform.credentials.https_url).port}`
  const get = async (path: string) => {
    const response = await platform.fetch(url + path)
    return `${response.status} ${await response.text()}`
  }

  await eventuallyEqual(() => get('/a'), '200 tunnel /a')
  await eventuallyEqual(() => get('/teapot'), '418 fixed')

  const policy = await call.create('/ip_policies', {})
  await call.create('/ip_policy_rules', { ip_policy_id: policy.id, cidr: '10.0.0.0/8', action: 'allow' })
  const restriction = `/edges/https/${edge.id}/routes/${route.id}/ip_restriction`
  assert.equal((await call('PUT', restriction, { body: { ip_policy_ids: [policy.id] } })).status, 200)
  await eventuallyEqual(async () => (await get('/a')).slice(0, 3), '403')
  await call.create('/ip_policy_rules', { ip_policy_id: policy.id, cidr: '127.0.0.0/8', action: 'allow' })
  await eventuallyEqual(() => get('/a'), '200 tunnel /a')
  assert.equal((await call('GET', `/backends/tunnel_group/${group.id}`)).body.tunnels.length, 1)
  const metrics = (await call('GET', '/metrics')).body as string
  assert.match(metrics, new RegExp(`adit_edge_requests_total\\{[^}]*edge="${edge.id}"[^}]*\\} [1-9]`))

  assert.equal((await call('DELETE', `/edges/https/${edge.id}`)).status, 204)
  await eventuallyEqual(async () => (await get('/a')).slice(0, 3), '404')
})

test('a change is in effect when the API responds', async (t) => {
  const platform = await startPlatform(t, ['--data-dir', createTempDir()])
  const { call } = platform
  await call.create('/reserved_domains', { domain: 'fixed.adit.localhost' })
  const { id: backend_id } = await call.create('/backends/http_response', { body: '0' })
  const edge = await call.create('/edges/https', { hostports: ['fixed.adit.localhost:443'] })
  const route = { match_type: 'path_prefix', match: '/', backend: { backend_id } }
  await call.create(`/edges/https/${edge.id}/routes`, route)
  const url = `https://fixed.adit.localhost:${new URL(platform.credentials.https_url).port}`
  const served: string[] = []

  for (let change = 1; change <= 20; change++) {
    await call('PATCH', `/backends/http_response/${backend_id}`, { body: { body: `${change}` } })
    served.push(await (await platform.fetch(url)).text())
  }

  assert.deepEqual(
    served,
    Array.from({ length: 20 }, (_, index) => `${index + 1}`),
  )
})

test('a TCP edge forwards a reserved address to a labelled tunnel', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  await connectLabelled(t, platform, 'raw', { port: 'tcp' })
  const { addr } = await call.create('/reserved_addrs', {})
  const group = await call.create('/backends/tunnel_group', { labels: { port: 'tcp' } })
  await call.create('/edges/tcp', { hostports: [addr], backend: { backend_id: group.id } })

  const ask = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(Number(addr.split(':')[1]), '127.0.0.1')
      const chunks: Buffer[] = []
      socket.on('data', (chunk) => chunks.push(chunk as Buffer))
      socket.on('error', reject)
      socket.on('close', () => resolve(Buffer.concat(chunks).toString().split('\r\n\r\n')[1] ?? ''))
      socket.end('GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    })

  await eventuallyEqual(ask, 'raw /x')
})

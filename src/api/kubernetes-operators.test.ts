import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareApi } from '../../test/support/api.ts'
import { assertRejected } from '../../test/support/assert-rejected.ts'

const { fresh } = await shareApi()

/** What the operator sends with each call. */
const headers = { 'ngrok-version': '2', 'user-agent': 'ngrok-api-go//go1.25' }
const deployment = {
  name: 'ngrok-operator',
  namespace: 'ngrok-operator',
  version: '0.19.0',
  cluster_name: 'blue',
}

test('an operator finds no registration, registers, updates itself, polls its endpoints and leaves', async () => {
  const api = await fresh()
  const path = '/kubernetes_operators'
  const call = (method: string, url: string, body?: object) =>
    api.call(method, url, { headers, ...(body && { body }) })

  const before = await call('GET', path)
  const created = await call('POST', path, {
    description: 'Created by ngrok-operator',
    metadata: '{"namespace.uid":"1"}',
    enabled_features: ['Ingress', 'Gateway'],
    region: 'global',
    deployment,
  })
  const own = `${path}/${created.body.id}`
  const updated = await call('PATCH', own, { enabled_features: ['ingress'] })
  const bound = await call('GET', `${own}/bound_endpoints`)
  const listed = await call('GET', path)
  const removed = await call('DELETE', own)

  assert.deepEqual(before.body.operators, [])
  assert.equal(created.status, 201)
  assert.deepEqual(created.body.enabled_features, ['ingress', 'gateway'])
  assert.deepEqual(created.body.deployment, deployment)
  assert.equal(created.body.principal.id, api.account.userId)
  assert.deepEqual(updated.body.enabled_features, ['ingress'])
  assert.deepEqual(bound.body.endpoints, [])
  assert.equal(listed.body.operators[0].id, created.body.id)
  assert.equal(removed.status, 204)
  assert.equal((await call('GET', `${own}/bound_endpoints`)).status, 404)
})

test('an update of where an operator runs changes the fields that it names', async () => {
  const api = await fresh()
  const { id } = await api.call.create('/kubernetes_operators', {
    enabled_features: ['bindings'],
    deployment,
    binding: { endpoint_selectors: ['true'] },
  })
  const update = (body: object) => api.call('PATCH', `/kubernetes_operators/${id}`, { headers, body })

  const upgraded = await update({ deployment: { name: 'renamed', version: '0.22.0' } })
  const unchanged = await update({ deployment: {}, binding: {} })

  assert.equal(upgraded.status, 200)
  assert.deepEqual(upgraded.body.deployment, { ...deployment, name: 'renamed', version: '0.22.0' })
  assert.deepEqual(unchanged.body.deployment, upgraded.body.deployment)
  assert.deepEqual(unchanged.body.binding.endpoint_selectors, ['true'])
  for (const invalid of [5, 'renamed', ['renamed'], true]) {
    assert.equal(
      (await update({ deployment: invalid })).status,
      400,
      `deployment is ${JSON.stringify(invalid)}`,
    )
    assert.equal((await update({ binding: invalid })).status, 400, `binding is ${JSON.stringify(invalid)}`)
  }
})

test('operators list the endpoints in clusters that one of their selectors is true for', async () => {
  const api = await fresh()
  const operator = async (endpoint_selectors: string[]) => {
    const body = { enabled_features: ['bindings'], deployment, binding: { endpoint_selectors } }
    return (await api.call('POST', '/kubernetes_operators', { body })).body
  }
  const deny = (phase: string) => `${phase}: [{actions: [{type: deny}]}]`
  const endpoint = (url: string, metadata: string, bindings: string[]) =>
    api.call.create('/endpoints', {
      url,
      metadata,
      bindings,
      traffic_policy: deny(url.startsWith('http') ? 'on_http_request' : 'on_tcp_connect'),
    })
  const bound = async ({ id }: { id: string }, query = '') => {
    const { body } = await api.call('GET', `/kubernetes_operators/${id}/bound_endpoints${query}`)
    return body.endpoints.map(({ url }: { url: string }) => url)
  }
  const web = await endpoint('http://web.default', 'blue', ['kubernetes'])
  await endpoint('tcp://db.default:5432', 'blue', ['kubernetes'])
  await endpoint('tls://web.default', 'green', ['kubernetes'])
  await endpoint('https://web.internal', 'blue', ['internal'])

  const all = await operator(['true'])
  const some = await operator(["endpoint.metadata == 'green'", "endpoint.url.startsWith('tcp:')"])
  const none = await operator([])

  assert.deepEqual(all.binding, { endpoint_selectors: ['true'], csr: '' })
  assert.deepEqual([web.bindings, web.host, web.port, web.domain], [['kubernetes'], 'web.default', 80, null])
  assert.deepEqual(await bound(all), ['tls://web.default', 'tcp://db.default:5432', 'http://web.default'])
  assert.deepEqual(await bound(all, '?limit=1'), ['tls://web.default'])
  assert.deepEqual(await bound(some), ['tls://web.default', 'tcp://db.default:5432'])
  assert.deepEqual(await bound(none), [])
  const other = await fresh()
  assert.equal((await other.call('GET', `/kubernetes_operators/${all.id}/bound_endpoints`)).status, 404)
})

test('a certificate request, a wrong selector and a wrong URL are rejected with the next step', async () => {
  const api = await fresh()
  const register = (binding: object) =>
    api.call('POST', '/kubernetes_operators', {
      body: { enabled_features: ['bindings'], deployment, binding },
    })
  const create = (url: string) =>
    api.call('POST', '/endpoints', {
      body: { url, bindings: ['kubernetes'], traffic_policy: 'on_http_request: [{actions: [{type: deny}]}]' },
    })

  const csr = await assertRejected(api, () => register({ csr: 'PEM' }), { status: 400, what: 'csr' })
  const selector = await assertRejected(api, () => register({ endpoint_selectors: ['endpoint.colour'] }), {
    status: 400,
    what: 'endpoint_selectors',
  })
  const https = await assertRejected(api, () => create('https://web.default'), { status: 400, what: 'https' })
  await assertRejected(api, () => create('http://web.example.com'), {
    status: 400,
    what: 'service.namespace',
  })
  await assertRejected(api, () => create('http://web'), { status: 400, what: 'service.namespace' })

  assert.match(csr.body.msg, /Install the operator without the feature bindings/)
  assert.equal(selector.body.details.field, 'binding.endpoint_selectors[0]')
  assert.equal(https.body.error_code, 'ERR_ADIT_18018')
})

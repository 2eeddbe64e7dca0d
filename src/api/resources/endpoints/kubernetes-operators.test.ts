import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { shareApi, startApi } from '../../../../test/support/api.ts'
import { assertRejected } from '../../../../test/support/assert-rejected.ts'
import { createOperatorRequest, OPERATOR_KEY } from '../../../../test/support/operator-request.ts'
import { writePem } from '../../../certs/x509/pem.ts'

const { fresh } = await shareApi()

const DAY_MS = 86_400_000
const RSA_KEY = { name: 'RSASSA-PKCS1-v1_5', publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }

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

  assert.deepEqual(all.binding, {
    endpoint_selectors: ['true'],
    csr: '',
    cert: null,
    ingress_endpoint: 'kubernetes-bindings.adit.localhost:8443',
  })
  assert.deepEqual([web.bindings, web.host, web.port, web.domain], [['kubernetes'], 'web.default', 80, null])
  assert.deepEqual(await bound(all), ['tls://web.default', 'tcp://db.default:5432', 'http://web.default'])
  assert.deepEqual(await bound(all, '?limit=1'), ['tls://web.default'])
  assert.deepEqual(await bound(some), ['tls://web.default', 'tcp://db.default:5432'])
  assert.deepEqual(await bound(none), [])
  const other = await fresh()
  assert.equal((await other.call('GET', `/kubernetes_operators/${all.id}/bound_endpoints`)).status, 404)
})

test('a wrong selector and a wrong URL are rejected with the next step', async () => {
  const api = await fresh()
  const register = (binding: object) =>
    api.call('POST', '/kubernetes_operators', {
      body: { enabled_features: ['bindings'], deployment, binding },
    })
  const create = (url: string) =>
    api.call('POST', '/endpoints', {
      body: { url, bindings: ['kubernetes'], traffic_policy: 'on_http_request: [{actions: [{type: deny}]}]' },
    })

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

  assert.equal(selector.body.details.field, 'binding.endpoint_selectors[0]')
  assert.equal(https.body.error_code, 'ERR_ADIT_18018')
})

test('an operator gets a certificate for its request, keeps it, and gets another for a new key', async () => {
  const api = await fresh()
  const { csr } = await createOperatorRequest()
  const { csr: newCsr } = await createOperatorRequest({ ...OPERATOR_KEY, namedCurve: 'P-384' })
  const update = async (id: string, binding: object) => {
    const { status, body } = await api.call('PATCH', `/kubernetes_operators/${id}`, {
      headers,
      body: { binding },
    })
    assert.equal(status, 200)
    return body.binding
  }

  const { id, binding } = await api.call.create('/kubernetes_operators', {
    enabled_features: ['bindings'],
    deployment,
    binding: { endpoint_selectors: ['true'], csr },
  })
  const same = await update(id, { endpoint_selectors: ['true'], csr })
  const other = await update(id, { endpoint_selectors: ["endpoint.proto == 'http'"] })
  const renewed = await update(id, { csr: newCsr })
  const removed = await update(id, { csr: '' })
  const second = await api.call.create('/kubernetes_operators', { binding: { csr } })
  const rsa = await createOperatorRequest({ ...RSA_KEY, modulusLength: 2048 })
  const third = await api.call.create('/kubernetes_operators', { binding: { csr: rsa.csr } })

  const certificate = new X509Certificate(binding.cert.cert)
  assert.equal(certificate.subject, `CN=${id}`)
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.2'])
  assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  assert.equal(Date.parse(binding.cert.not_after), certificate.validToDate.getTime())
  assert.equal(Date.parse(binding.cert.not_before), certificate.validFromDate.getTime())
  const days = (certificate.validToDate.getTime() - Date.now()) / DAY_MS
  assert.ok(days > 89 && days <= 90, `valid for ${days} days`)
  assert.deepEqual(same.cert, binding.cert)
  assert.deepEqual(other.cert, binding.cert)
  assert.notEqual(renewed.cert.cert, binding.cert.cert)
  assert.equal(new X509Certificate(renewed.cert.cert).subject, `CN=${id}`)
  assert.equal(removed.cert, null)
  assert.ok(new X509Certificate(third.binding.cert.cert).checkPrivateKey(createPrivateKey(rsa.key)))
  const another = new X509Certificate(second.binding.cert.cert)
  assert.deepEqual([another.subject, another.issuer], [`CN=${second.id}`, certificate.issuer])
})

test('a certificate that has expired is replaced with the next update', async (t) => {
  let now = Date.now()
  const api = await startApi(t, { clock: { now: () => now, monotonic: () => performance.now() } })
  const { csr } = await createOperatorRequest()
  const { id, binding } = await api.call.create('/kubernetes_operators', { binding: { csr } })

  now += 89 * DAY_MS
  const before = await api.call('PATCH', `/kubernetes_operators/${id}`, { body: { binding: { csr } } })
  now += 2 * DAY_MS
  const after = await api.call('PATCH', `/kubernetes_operators/${id}`, { body: { binding: { csr } } })

  assert.deepEqual(before.body.binding.cert, binding.cert)
  assert.notEqual(after.body.binding.cert.cert, binding.cert.cert)
})

test('certificate requests that cannot be trusted are rejected with the field and the reason', async () => {
  const api = await fresh()
  const { csr } = await createOperatorRequest()
  const der = Buffer.from(csr.replaceAll(/-----.*-----|\n/g, ''), 'base64')
  const forged = Buffer.from(der)
  forged[forged.length - 1]! ^= 1
  const { csr: weak } = await createOperatorRequest({ ...RSA_KEY, modulusLength: 1024 })

  for (const [text, reason] of [
    ['PEM', /is not PEM/],
    [writePem('CERTIFICATE', der), /must be CERTIFICATE REQUEST/],
    [csr + csr, /exactly one block/],
    [writePem('CERTIFICATE REQUEST', forged), /not signed with its own key/],
    [writePem('CERTIFICATE REQUEST', der.subarray(0, 40)), /cannot be parsed/],
    [weak, /an RSA key of 1024 bits, which is not supported/],
    [`${csr}${'x'.repeat(16_384)}`, /16384/],
  ] as const) {
    const { body } = await assertRejected(
      api,
      () => api.call('POST', '/kubernetes_operators', { body: { binding: { csr: text } } }),
      { status: 400, what: 'binding.csr' },
    )
    assert.match(body.msg, reason)
    assert.equal(body.details.field, 'binding.csr')
  }
})

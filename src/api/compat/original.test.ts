import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareApi, startApi, type TestApi, type TestResponse } from '../../../test/support/api.ts'
import { createOnline } from '../../../test/support/online.ts'
import { certificates, nextNumber } from '../../../test/support/samples.ts'

const { fresh } = await shareApi()

/** A client that speaks the dialect of the original. */
function original(api: TestApi, headers: Record<string, string> = {}) {
  return (
    method: string,
    path: string,
    options: Parameters<TestApi['call']>[2] = {},
  ): Promise<TestResponse> =>
    api.call(method, path, { ...options, headers: { 'ngrok-version': '2', ...headers, ...options.headers } })
}

test('errors have the statuses and codes of the original', async () => {
  const api = await fresh()
  const call = original(api)
  const domain = `taken${nextNumber()}.example.com`
  await call('POST', '/reserved_domains', { body: { domain } })
  const policy = await call('POST', '/ip_policies', { body: {} })
  await call('POST', '/edges/tcp', { body: { ip_restriction: { ip_policy_ids: [policy.body.id] } } })

  for (const [answer, status, code] of [
    [await call('GET', '/api_keys', { key: undefined }), 403, 'ERR_NGROK_200'],
    [
      await call('GET', '/api_keys', { key: undefined, headers: { authorization: 'x' } }),
      403,
      'ERR_NGROK_201',
    ],
    [await call('GET', '/api_keys', { key: 'x' }), 403, 'ERR_NGROK_203'],
    [await call('GET', '/api_keys', { key: api.account.authtoken.reveal() }), 400, 'ERR_NGROK_206'],
    [await call('POST', '/reserved_domains', { body: { domain } }), 400, 'ERR_NGROK_413'],
    [await call('DELETE', `/ip_policies/${policy.body.id}`), 400, 'ERR_NGROK_446'],
    [await call('PUT', '/api_keys', { body: {} }), 404, 'ERR_NGROK_406'],
    [await call('GET', '/nothing'), 404, 'ERR_NGROK_405'],
    [await call('GET', '/api_keys/x'), 404, 'ERR_NGROK_222'],
    [await call('POST', '/api_keys', { body: { no_such: 1 } }), 400, 'ERR_NGROK_214'],
    [await call('GET', '/api_keys', { headers: { 'ngrok-version': '1' } }), 400, 'ERR_NGROK_217'],
  ] as const) {
    assert.equal(answer.status, status, JSON.stringify(answer.body))
    assert.equal(answer.body.status_code, status)
    assert.equal(answer.body.error_code, code, answer.body.msg)
    for (const fact of Object.values(answer.body.details)) assert.equal(typeof fact, 'string')
    assert.equal(answer.headers.get('www-authenticate'), null)
    assert.equal(answer.headers.get('ngrok-operation-id'), answer.body.details.operation_id)
  }
  assert.equal((await call('GET', '/nothing')).body.details.path, '/nothing')
})

test('the message about a domain that is taken has the words that clients look for', async () => {
  const call = original(await fresh())
  const body = { domain: `words${nextNumber()}.example.com` }
  await call('POST', '/reserved_domains', { body })

  const { msg } = (await call('POST', '/reserved_domains', { body })).body

  assert.match(msg, /domain is already reserved/)
})

test('both headers together mean the original', async () => {
  const api = await fresh()

  const answer = await original(api)('GET', '/api_keys', {
    key: undefined,
    headers: { 'service-version': '9' },
  })

  assert.equal(answer.body.error_code, 'ERR_NGROK_200')
})

test('empty values mean unset in creations', async () => {
  const api = await fresh()
  const call = original(api)

  for (const [path, body] of [
    ['/reserved_addrs', { description: '', metadata: '', region: '' }],
    ['/ssh_certificate_authorities', { private_key_type: '', elliptic_curve: '', key_size: 0 }],
    ['/credentials', { acl: [], owner_id: '' }],
    ['/backends/http_response', { body: '', headers: {}, status_code: 0 }],
    ['/edges/https', { hostports: [], mutual_tls: {}, tls_termination: {} }],
  ] as const) {
    const created = await call('POST', path, { body })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    const strict = await api.call('POST', path, { body })
    if (path === '/backends/http_response')
      assert.equal(strict.status, 400, 'the native dialect takes a value as it is')
  }
})

test('empty values clear fields in updates, except where clients always send them', async () => {
  const api = await fresh()
  const call = original(api)
  const credential = await api.call.create('/credentials', { acl: ['*'], description: 'x' })
  const child = await api.call.create('/backends/http_response', {})
  const backend = await api.call.create('/backends/failover', { backends: [child.id], description: 'x' })

  const cleared = await call('PATCH', `/credentials/${credential.id}`, { body: { acl: [], description: '' } })
  const unchanged = await call('PATCH', `/backends/failover/${backend.id}`, {
    body: { backends: [], description: '' },
  })

  assert.deepEqual([cleared.body.acl, cleared.body.description], [[], ''])
  assert.deepEqual([unchanged.body.backends, unchanged.body.description], [[child.id], ''])
})

test('an empty id in an update means that the reference was not given', async () => {
  const api = await fresh()
  const call = original(api)
  const domain = await call('POST', '/reserved_domains', {
    body: { domain: `empty${nextNumber()}.example.com` },
  })
  const credential = await api.call.create('/credentials', {})

  const updated = await call('PATCH', `/reserved_domains/${domain.body.id}`, {
    body: {
      description: 'x',
      certificate_id: '',
      http_endpoint_configuration_id: '',
      https_endpoint_configuration_id: '',
    },
  })
  const owned = await call('PATCH', `/credentials/${credential.id}`, {
    body: { metadata: 'y', owner_id: '' },
  })

  assert.equal(updated.status, 200, JSON.stringify(updated.body))
  assert.equal(updated.body.description, 'x')
  assert.deepEqual(updated.body.certificate_management_policy, domain.body.certificate_management_policy)
  assert.equal(owned.status, 200, JSON.stringify(owned.body))
  assert.equal(owned.body.metadata, 'y')
})

test('a reserved domain keeps what it resolves to', async () => {
  const api = await fresh()
  const call = original(api)
  const body = { domain: `resolves${nextNumber()}.example.com`, resolves_to: [{ value: 'global' }] }

  const created = await call('POST', '/reserved_domains', { body })
  const path = `/reserved_domains/${created.body.id}`
  const cleared = await call('PATCH', path, { body: { resolves_to: [] } })
  const doubled = await call('PATCH', path, { body: { resolves_to: [{ value: 'eu' }, { value: 'eu' }] } })

  assert.deepEqual(created.body.resolves_to, [{ value: 'global' }])
  assert.deepEqual(cleared.body.resolves_to, [])
  assert.equal(doubled.status, 400)
  assert.deepEqual((await call('GET', path)).body.resolves_to, [])
})

test('user data is never renamed', async () => {
  const api = await fresh()
  const labels = {
    datadog: 'a',
    monitoring: 'b',
    aws_access_key_id: 'c',
    policies: 'd',
    transport: 'adit/e',
    target: 'f',
  }

  const created = await original(api)('POST', '/backends/tunnel_group', { body: { labels } })

  assert.deepEqual(created.body.labels, labels)
  assert.deepEqual((await api.call('GET', `/backends/tunnel_group/${created.body.id}`)).body.labels, labels)
  const [listed] = (await original(api)('GET', '/backends/tunnel_group')).body.backends
  assert.deepEqual(listed.labels, labels)
})

test('targets are renamed both ways, and either spelling is accepted', async () => {
  const api = await fresh()
  const call = original(api)
  for (const member of ['datadog', 'monitoring']) {
    const created = await call('POST', '/event_destinations', {
      body: { format: 'json', target: { [member]: { api_key: 'k' } } },
    })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    assert.equal(created.body.target.datadog.api_key, null)
    assert.ok(!('monitoring' in created.body.target))
  }
  const listed = (await call('GET', '/event_destinations')).body.event_destinations
  assert.ok(listed.every(({ target }: { target: object }) => 'datadog' in target))
})

test('edges have their policies under every name the field has had', async () => {
  const api = await fresh()
  const call = original(api)
  const edge = await call('POST', '/edges/https', { body: {} })
  const route = { match_type: 'path_prefix', match: '/' }
  await call('POST', `/edges/https/${edge.body.id}/routes`, { body: { ...route, edge_id: edge.body.id } })

  const { body } = await call('GET', `/edges/https/${edge.body.id}`)
  const listed = (await call('GET', '/edges/https')).body.https_edges[0]

  for (const shown of [body, body.routes[0], listed, listed.routes[0]])
    assert.deepEqual([shown.policies, shown.policy, shown.traffic_policy], [null, null, null])
  assert.ok(!('policy' in (await api.call('GET', `/edges/https/${edge.body.id}`)).body))
})

test('the older policy module is the traffic policy, in the form that clients of it know', async () => {
  const api = await fresh()
  const call = original(api)
  const rules = [{ name: 'all', expressions: [], actions: [{ type: 'deny', config: { status_code: 404 } }] }]
  const policy = { enabled: true, inbound: rules, outbound: null }
  const edge = await api.call.create('/edges/https', {})
  const path = `/edges/https/${edge.id}/routes`

  const created = await call('POST', path, {
    body: { match_type: 'path_prefix', match: '/', policy: { enabled: true, inbound: rules } },
  })
  const module = `${path}/${created.body.id}`
  const put = await call('PUT', `${module}/policy`, {
    body: { id: 'x', module: { ...policy, enabled: false } },
  })
  const read = await call('GET', `${module}/policy`)
  const native = await api.call('GET', `${module}/traffic_policy`)
  const invalid = await call('PUT', `${module}/policy`, {
    body: { inbound: [{ actions: [{ type: 'denny' }] }] },
  })
  const removed = await call('DELETE', `${module}/policy`)
  const after = await api.call('GET', module)
  const unknown = await api.call('GET', `${module}/policy`)

  assert.deepEqual(created.body.policy, { ...policy, outbound: [] })
  for (const { body } of [put, read]) assert.deepEqual(body, { ...policy, enabled: false, outbound: [] })
  assert.deepEqual(JSON.parse(native.body.value), { inbound: rules, outbound: [] })
  assert.deepEqual([invalid.status, invalid.body.error_code], [400, 'ERR_NGROK_2201'])
  assert.deepEqual([removed.status, after.body.traffic_policy, unknown.status], [204, null, 404])
})

test('a policy that is not in the older form is shown under its own name alone', async () => {
  const api = await fresh()
  const traffic_policy = { enabled: true, value: 'on_tcp_connect: [{actions: [{type: deny}]}]' }

  const { body } = await original(api)('POST', '/edges/tcp', { body: { traffic_policy } })

  assert.deepEqual([body.traffic_policy, body.policy], [traffic_policy, null])
})

test('ids in the body are ignored and wrapped modules unwrapped', async () => {
  const api = await fresh()
  const call = original(api)
  const { id } = await api.call.create('/edges/tcp', {})
  const policy = await api.call.create('/ip_policies', {})
  const module = { enabled: true, ip_policy_ids: [policy.id] }

  const wrapped = await call('PUT', `/edges/tcp/${id}/ip_restriction`, { body: { id, module } })
  const bare = await call('PUT', `/edges/tcp/${id}/ip_restriction`, { body: module })
  const patched = await call('PATCH', `/edges/tcp/${id}`, { body: { id, description: 'x' } })

  assert.deepEqual(wrapped.body, bare.body)
  assert.equal(patched.body.description, 'x')
  assert.equal(
    (await api.call('PATCH', `/edges/tcp/${id}`, { body: { id } })).status,
    400,
    'not in the native dialect',
  )
})

test('clients that cannot parse an empty response get an empty object', async () => {
  const api = await fresh()
  for (const [agent, status] of [
    ['ngrok-api-typescript/0.10.0/v26', 200],
    ['ngrok-api-python/0.17/3.12', 200],
    ['ngrok-api-go//go1.24', 204],
    ['terraform-provider-ngrok/0.8', 204],
  ] as const) {
    const { id } = await api.call.create('/ip_policies', {})
    const answer = await original(api, { 'user-agent': agent })('DELETE', `/ip_policies/${id}`)
    assert.equal(answer.status, status, agent)
    assert.deepEqual(answer.body, status === 200 ? {} : '', agent)
  }
})

test('what the configuration of the older Terraform provider leaves out is null for it, and for it alone', async () => {
  const api = await fresh()
  const provider = original(api, { 'user-agent': 'ngrok-api-client/0' })
  const domain = `left${nextNumber()}.example.com`
  const policy = { authority: 'letsencrypt', private_key_type: 'ecdsa' }
  const policyOf = async (call: typeof provider, id: string) =>
    (await call('GET', `/reserved_domains/${id}`)).body.certificate_management_policy

  const { id } = (await provider('POST', '/reserved_domains', { body: { domain } })).body
  const { id: other } = await api.call.create('/reserved_domains', { domain: `of.${domain}` })

  assert.equal(await policyOf(provider, id), null)
  assert.equal((await policyOf(original(api), id)).authority, 'letsencrypt')
  assert.equal((await policyOf(provider, other)).authority, 'letsencrypt')
  // Writes of other clients do not change what the configuration holds.
  await original(api)('PATCH', `/reserved_domains/${id}`, { body: { certificate_management_policy: policy } })
  assert.equal(await policyOf(provider, id), null)
  await provider('PATCH', `/reserved_domains/${id}`, { body: { certificate_management_policy: policy } })
  assert.deepEqual(await policyOf(provider, id), policy)
  await provider('PATCH', `/reserved_domains/${id}`, { body: { description: 'x' } })
  assert.equal(await policyOf(provider, id), null)
  assert.deepEqual(await policyOf(original(api), id), policy)
})

test('the older Terraform provider sees an uploaded certificate, and not one that it left to the server', async () => {
  const api = await fresh()
  const provider = original(api, { 'user-agent': 'ngrok-api-client/0' })
  const { leaf } = await certificates()
  const uploaded = await api.call.create('/tls_certificates', {
    certificate_pem: leaf.cert,
    private_key_pem: leaf.key,
  })
  const body = { domain: `own${nextNumber()}.example.com`, certificate_id: uploaded.id }

  const { id } = (await provider('POST', '/reserved_domains', { body })).body

  assert.equal((await provider('GET', `/reserved_domains/${id}`)).body.certificate.id, uploaded.id)
})

test('the older Terraform provider sees the vault of a secret as its configuration names it', async () => {
  const api = await fresh()
  const provider = original(api, { 'user-agent': 'ngrok-api-client/0' })
  const vault = await api.call.create('/vaults', { name: 'shared' })
  const names = { id: { vault_id: vault.id }, name: { vault_name: 'shared' } }
  const vaultOf = async (call: typeof provider, body: object) => {
    const secret = { name: `s${nextNumber()}`, value: 'x', ...body }
    const { id } = (await provider('POST', '/vault_secrets', { body: secret })).body
    const change = await provider('PATCH', `/vault_secrets/${id}`, { body: { description: 'changed' } })
    assert.equal(change.status, 200)
    const shown = (await call('GET', `/vault_secrets/${id}`)).body
    return [shown.vault?.id, shown.vault_name]
  }

  assert.deepEqual(await vaultOf(provider, names.id), [vault.id, null])
  assert.deepEqual(await vaultOf(provider, names.name), [undefined, 'shared'])
  assert.deepEqual(await vaultOf(provider, { ...names.id, ...names.name }), [vault.id, 'shared'])
  assert.deepEqual(await vaultOf(original(api), names.id), [vault.id, 'shared'])
})

test('the older Terraform provider sees the owner of a credential only if it is another one', async () => {
  const api = await fresh()
  const bot = await api.call.create('/bot_users', { name: `bot ${nextNumber()}` })
  const ownerOf = async (body: object, userAgent: string) => {
    const { id } = await api.call.create('/credentials', body)
    const headers = { 'ngrok-version': '2', 'user-agent': userAgent }
    return (await api.call('GET', `/credentials/${id}`, { headers })).body.owner_id
  }

  assert.equal(await ownerOf({}, 'ngrok-api-client/0'), null)
  assert.equal(await ownerOf({ owner_id: bot.id }, 'ngrok-api-client/0'), bot.id)
  assert.equal(await ownerOf({}, 'ngrok-api-python/0.19.0'), api.account.userId)
})

test('beforeId is accepted for before_id', async () => {
  const api = await fresh()
  const [first, second] = [
    await api.call.create('/ip_policies', {}),
    await api.call.create('/ip_policies', {}),
  ]

  const { body } = await original(api)('GET', `/ip_policies?beforeId=${second.id}&limit=100`)

  assert.deepEqual(
    body.ip_policies.map(({ id }: { id: string }) => id),
    [first.id],
  )
})

test('commands accept any body', async (t) => {
  const online = createOnline()
  const api = await startApi(t, { online })
  const { session } = online.putOnline(api.account.accountId, api.url)
  const call = original(api)
  const path = `/tunnel_sessions/${session}/restart`
  for (const options of [
    {},
    { body: {} },
    { raw: session },
    { raw: session, headers: { 'content-type': 'text/plain;charset=UTF-8' } },
    { headers: { 'content-type': 'application/json' } },
  ])
    assert.equal((await call('POST', path, options)).status, 204, JSON.stringify(options))
  assert.equal((await api.call('POST', path, { raw: session })).status, 400, 'not in the native dialect')
})

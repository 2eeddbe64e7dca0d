import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { createAccount } from '../../src/auth/index.ts'
import { systemClock } from '../../src/base/values/clock.ts'
import { shareApi, startApi, type TestApi } from '../support/api.ts'
import { assertRejected } from '../support/assert-rejected.ts'
import { createOnline } from '../support/online.ts'
import { type Body, certificates, hostport, moduleSamples, nextNumber } from '../support/samples.ts'

const { fresh } = await shareApi()

/** The rules that documents 1 and 2 state outside their tables, one test each. */

test('rule 1: a token is returned on creation only and is null afterwards', async () => {
  const api = await fresh()
  for (const [base, key] of [
    ['/api_keys', 'keys'],
    ['/credentials', 'credentials'],
  ] as const) {
    const created = await api.call.create(base, {})

    assert.match(created.token, /^[0-9A-Za-z]{27}_[0-9A-Za-z]{43}$/)
    assert.equal((await api.call('GET', `${base}/${created.id}`)).body.token, null)
    assert.equal(
      (await api.call('PATCH', `${base}/${created.id}`, { body: { metadata: 'x' } })).body.token,
      null,
    )
    for (const item of (await api.call('GET', base)).body[key]) assert.equal(item.token, null)
  }
})

test('authentication 1, 2 and 6: API keys authenticate, other tokens do not', async () => {
  const api = await fresh()
  const { token } = await api.call.create('/api_keys', {})
  const { token: authtoken } = await api.call.create('/credentials', {})

  assert.equal((await api.call('GET', '/api_keys', { key: token })).status, 200)
  assert.equal((await api.call('GET', '/api_keys', { key: authtoken })).status, 401)
  for (const authorization of ['', 'Basic eDp5', token, `Token ${token}`, `Bearer ${token} x`, 'Bearer'])
    await assertRejected(
      api,
      () => api.call('GET', '/api_keys', { key: undefined, headers: { authorization } }),
      {
        status: 401,
        what: authorization,
      },
    )
  const lower = { authorization: `bearer ${token}` }
  assert.equal((await api.call('GET', '/api_keys', { key: undefined, headers: lower })).status, 200)
})

test('authentication 5: the caller is the owner, unless an administrator names another one', async () => {
  const api = await fresh()
  const bot = await api.call.create('/bot_users', { name: 'robot' })
  for (const base of ['/api_keys', '/credentials']) {
    assert.equal((await api.call.create(base, {})).owner_id, api.account.userId)
    const { id, owner_id } = await api.call.create(base, { owner_id: bot.id })
    assert.equal(owner_id, bot.id)
    await assertRejected(
      api,
      () => api.call('PATCH', `${base}/${id}`, { body: { owner_id: api.account.userId } }),
      {
        status: 400,
        field: 'owner_id',
        what: 'changing the owner',
      },
    )
  }
  const { token } = await api.call.create('/api_keys', { owner_id: bot.id })
  const asBot = api.client(token)
  assert.equal((await asBot.create('/credentials', {})).owner_id, bot.id)
  await assertRejected(api, () => asBot('POST', '/credentials', { body: { owner_id: api.account.userId } }), {
    status: 403,
    what: 'a bot naming another owner',
  })
})

test('ACL rules: the documented forms are accepted and normalized', async () => {
  const api = await fresh()
  const forms: [input: string, normalized: string][] = [
    ['*', '*'],
    ['bind:example.com', 'bind:example.com'],
    ['bind:*.Example.com', 'bind:*.example.com'],
    ['bind:1.tcp.example.com:20000', 'bind:1.tcp.example.com:20000'],
    ['bind:app=web', 'bind:app=web'],
    ['bind:*=web', 'bind:*=web'],
    ['bind:app=*', 'bind:app=*'],
    ['bind:*=*', 'bind:*=*'],
  ]

  const { acl } = await api.call.create('/credentials', { acl: forms.map(([input]) => input) })

  assert.deepEqual(
    acl,
    forms.map(([, normalized]) => normalized),
  )
  assert.deepEqual((await api.call.create('/credentials', {})).acl, [])
  const { id } = await api.call.create('/credentials', { acl: ['*'] })
  assert.deepEqual((await api.call('PATCH', `/credentials/${id}`, { body: { acl: [] } })).body.acl, [])
  for (const rule of ['connect:example.com', 'listen:*', 'bind', 'bind:', 'BIND', 'bind:a b', 'bind:*.*.com'])
    await assertRejected(api, () => api.call('POST', '/credentials', { body: { acl: [rule] } }), {
      status: 400,
      field: 'acl[0]',
      what: rule,
    })
})

test('IP policy rules: IPv4 and IPv6 ranges are normalized and unique within a policy', async () => {
  const api = await fresh()
  const { id } = await api.call.create('/ip_policies', {})
  for (const [cidr, normalized] of [
    ['192.0.2.1', '192.0.2.1/32'],
    ['2001:db8::1', '2001:db8::1/128'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8::/32', '2001:db8::/32'],
    ['::/0', '::/0'],
  ] as const) {
    const rule = await api.call.create('/ip_policy_rules', { cidr, action: 'allow', ip_policy_id: id })
    assert.equal(rule.cidr, normalized)
    assert.deepEqual(rule.ip_policy, { id, uri: `${api.url}/ip_policies/${id}` })
  }
  const duplicate = { cidr: '::/0', action: 'deny', ip_policy_id: id }
  for (const cidr of ['::/0', '0:0::/0', '192.0.2.1/32', '2001:db8:0::/32', '2001:DB8:0:0::1'])
    await assertRejected(api, () => api.call('POST', '/ip_policy_rules', { body: { ...duplicate, cidr } }), {
      status: 409,
      what: `${cidr} twice`,
    })
  for (const [cidr, code] of [
    ['10.0.0.0/33', 'ERR_ADIT_1406'],
    ['example.com', 'ERR_ADIT_1406'],
    ['10.0.0.1/8', 'ERR_ADIT_1409'],
    [8, 'ERR_ADIT_215'],
  ] as const) {
    const expected = { status: 400, field: 'cidr', what: `the range ${cidr}` }
    const body = { ...duplicate, cidr }
    const { body: rejection } = await assertRejected(
      api,
      () => api.call('POST', '/ip_policy_rules', { body }),
      expected,
    )
    assert.equal(rejection.error_code, code)
  }
  await assertRejected(
    api,
    () => api.call('POST', '/ip_policy_rules', { body: { ...duplicate, action: 'block' } }),
    {
      status: 400,
      field: 'action',
      what: 'an unknown action',
    },
  )
})

test('reserved addresses come from the configured port range, and only documented regions are accepted', async () => {
  const api = await fresh()
  const addresses = new Set<string>()
  for (const region of ['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa']) {
    const { addr, region: storedRegion } = await api.call.create('/reserved_addrs', { region })
    const [host, port] = addr.split(':')
    assert.equal(host, 'localhost')
    assert.ok(Number(port) >= 20_000 && Number(port) <= 20_999)
    assert.equal(storedRegion, region)
    addresses.add(addr)
  }
  assert.equal(addresses.size, 7)
  assert.equal((await api.call.create('/reserved_addrs', {})).region, 'us')
  assert.equal((await api.call.create('/reserved_addrs', { region: '' })).region, 'us')
  const domain = `region${nextNumber()}.example.com`
  assert.equal((await api.call.create('/reserved_domains', { domain, region: '' })).region, null)
  await assertRejected(api, () => api.call('POST', '/reserved_addrs', { body: { region: 'mars' } }), {
    status: 400,
    field: 'region',
    what: 'an unknown region',
  })
})

test('a released address is reassigned last, and an exhausted range is reported', async (t) => {
  const api = await startApi(t, { config: { tcpPorts: [20_000, 20_002] } })
  const first = await api.call.create('/reserved_addrs', {})
  assert.equal((await api.call('DELETE', `/reserved_addrs/${first.id}`)).status, 204)

  const pending = [1, 2, 3].map(() => api.call.create('/reserved_addrs', {}))

  const addrs = []
  for (const creation of pending) addrs.push((await creation).addr)
  assert.deepEqual(addrs.toSorted(), ['localhost:20000', 'localhost:20001', 'localhost:20002'])
  await assertRejected(api, () => api.call('POST', '/reserved_addrs'), {
    status: 409,
    what: 'a fourth address',
  })
})

async function uploadCertificate(api: TestApi): Promise<string> {
  const { leaf } = await certificates()
  return (
    await api.call.create('/tls_certificates', { certificate_pem: leaf.cert, private_key_pem: leaf.key })
  ).id
}

test('reserved domains: platform and custom names, and the fields derived from them', async () => {
  const api = await fresh()

  const ownDomain = await api.call.create('/reserved_domains', { domain: 'App.Adit.Localhost.' })
  assert.equal(ownDomain.domain, 'app.adit.localhost')
  for (const field of [
    'cname_target',
    'certificate',
    'certificate_management_policy',
    'certificate_management_status',
    'acme_challenge_cname_target',
    'region',
  ])
    assert.equal(ownDomain[field], null, field)
  const customDomain = await api.call.create('/reserved_domains', { domain: 'www.example.com', region: 'eu' })
  assert.equal(customDomain.region, 'eu')
  assert.match(customDomain.cname_target, /^[0-9a-z]{16}\.[0-9a-z]{16}\.cname\.adit\.localhost$/)
  assert.deepEqual(customDomain.certificate_management_policy, {
    authority: 'letsencrypt',
    private_key_type: 'rsa',
  })
  assert.equal(customDomain.certificate_management_status.renews_at, null)
  assert.equal(customDomain.certificate_management_status.provisioning_job.error_code, null)
  assert.equal(customDomain.acme_challenge_cname_target, null)
  const wildcard = await api.call.create('/reserved_domains', { domain: '*.example.net' })
  assert.match(wildcard.acme_challenge_cname_target, /\.adit\.localhost$/)
  const ownWildcard = await api.call.create('/reserved_domains', { domain: '*.app.adit.localhost' })
  assert.equal(ownWildcard.acme_challenge_cname_target, null)
  for (const domain of ['adit.localhost', '*.adit.localhost'])
    await assertRejected(api, () => api.call('POST', '/reserved_domains', { body: { domain } }), {
      status: 400,
      field: 'domain',
      what: domain,
    })
  for (const domain of [
    'idp.adit.localhost',
    '*.idp.adit.localhost',
    'x.cname.adit.localhost',
    'ns1.adit.localhost',
  ])
    await assertRejected(api, () => api.call('POST', '/reserved_domains', { body: { domain } }), {
      status: 409,
      what: domain,
    })
})

test('public suffixes cannot be reserved or used as an agent ingress, but names below them can', async () => {
  const api = await fresh()

  for (const domain of ['co.uk', '*.co.uk', 'github.io', '*.github.io'])
    await assertRejected(api, () => api.call('POST', '/reserved_domains', { body: { domain } }), {
      status: 400,
      field: 'domain',
      what: domain,
    })
  for (const domain of ['co.uk', 'github.io', 'connect.adit.localhost'])
    await assertRejected(api, () => api.call('POST', '/agent_ingresses', { body: { domain } }), {
      status: 400,
      field: 'domain',
      what: `the ingress ${domain}`,
    })

  for (const domain of ['shop.co.uk', '*.team.github.io'])
    await api.call.create('/reserved_domains', { domain })
  await api.call.create('/agent_ingresses', { domain: 'tunnel.shop.co.uk' })
})

test('a parent of the platform domain cannot be reserved', async (t) => {
  const api = await startApi(t, { config: { domain: 'tunnels.example.com' } })

  for (const domain of ['example.com', '*.example.com'])
    await assertRejected(api, () => api.call('POST', '/reserved_domains', { body: { domain } }), {
      status: 409,
      what: domain,
    })
  await assertRejected(api, () => api.call('POST', '/agent_ingresses', { body: { domain: 'example.com' } }), {
    status: 400,
    field: 'domain',
    what: 'the ingress example.com',
  })
})

test('private network names can be reserved only if the platform domain is private too', async (t) => {
  const api = await fresh()
  const internalApi = await startApi(t, { config: { domain: 'tunnels.corp.internal' } })

  for (const domain of ['app.corp.internal', '*.corp.internal'])
    await assertRejected(api, () => api.call('POST', '/reserved_domains', { body: { domain } }), {
      status: 400,
      field: 'domain',
      what: domain,
    })
  for (const domain of ['app.tunnels.corp.internal', 'app.corp.internal'])
    assert.equal((await internalApi.call('POST', '/reserved_domains', { body: { domain } })).status, 201)
})

test('errors 3: certificate_id and certificate_management_policy exclude each other', async () => {
  const api = await fresh()
  const certificate_id = await uploadCertificate(api)
  const certificate_management_policy = { authority: 'letsencrypt' }
  const field = 'certificate_management_policy'

  const body = { domain: 'a.example.com', certificate_id, certificate_management_policy }
  await assertRejected(api, () => api.call('POST', '/reserved_domains', { body: body }), {
    status: 400,
    field,
    what: 'both',
  })
  const one = await api.call.create('/reserved_domains', { domain: 'a.example.com', certificate_id })
  assert.equal(one.certificate.id, certificate_id)
  assert.equal(one.certificate_management_policy, null)
  assert.equal(one.certificate_management_status, null)
  const path = `/reserved_domains/${one.id}`
  const change = { certificate_id, certificate_management_policy }
  await assertRejected(api, () => api.call('PATCH', path, { body: change }), {
    status: 400,
    field,
    what: 'PATCH both',
  })

  const managedResponse = await api.call('PATCH', path, { body: { certificate_management_policy } })
  assert.equal(managedResponse.body.certificate, null)
  assert.deepEqual(managedResponse.body.certificate_management_policy, {
    authority: 'letsencrypt',
    private_key_type: 'rsa',
  })
  assert.ok(managedResponse.body.certificate_management_status)
  const reverted = await api.call('PATCH', path, { body: { certificate_id } })
  assert.equal(reverted.body.certificate.id, certificate_id)
  assert.equal(reverted.body.certificate_management_policy, null)
  assert.equal(reverted.body.certificate_management_status, null)
  assert.equal((await api.call('DELETE', `/tls_certificates/${certificate_id}`)).status, 409)
  assert.equal((await api.call('DELETE', `${path}/certificate`)).status, 204)
  assert.equal((await api.call('GET', path)).body.certificate, null)
  assert.equal((await api.call('DELETE', `/tls_certificates/${certificate_id}`)).status, 204)
  await assertRejected(
    api,
    () =>
      api.call('POST', '/reserved_domains', {
        body: { domain: 'x.adit.localhost', certificate_management_policy },
      }),
    { status: 400, what: "a policy under the platform's domain" },
  )
  await assertRejected(
    api,
    () => api.call('PATCH', path, { body: { certificate_management_policy: { authority: 'nobody' } } }),
    { status: 400, field: 'certificate_management_policy.authority', what: 'an unknown authority' },
  )
})

test('DELETE detaches a part of a name, and an update with null leaves it unchanged', async () => {
  const api = await fresh()
  const configuration = async (type: string) =>
    (await api.call.create('/endpoint_configurations', { type })).id
  const domain = await api.call.create('/reserved_domains', {
    domain: 'b.example.com',
    http_endpoint_configuration_id: await configuration('http'),
    https_endpoint_configuration_id: await configuration('https'),
  })
  const addr = await api.call.create('/reserved_addrs', {
    endpoint_configuration_id: await configuration('tcp'),
  })
  const ingress = await api.call.create('/agent_ingresses', {
    domain: 'agents.b.example.com',
    certificate_management_policy: { authority: 'letsencrypt' },
  })

  for (const [path, part] of [
    [`/reserved_domains/${domain.id}`, 'http_endpoint_configuration'],
    [`/reserved_domains/${domain.id}`, 'https_endpoint_configuration'],
    [`/reserved_domains/${domain.id}`, 'certificate_management_policy'],
    [`/reserved_addrs/${addr.id}`, 'endpoint_configuration'],
    [`/agent_ingresses/${ingress.id}`, 'certificate_management_policy'],
  ] as const) {
    const requestField = part.endsWith('configuration') ? `${part}_id` : part
    assert.notEqual((await api.call('PATCH', path, { body: { [requestField]: null } })).body[part], null)
    if (part === 'certificate_management_policy' && path.startsWith('/reserved_domains'))
      await assertRejected(api, () => api.call('DELETE', `${path}/certificate`), {
        status: 409,
        what: 'managed',
      })
    assert.equal((await api.call('DELETE', `${path}/${part}`)).status, 204)
    assert.equal((await api.call('GET', path)).body[part], null)
    if (part === 'certificate_management_policy')
      assert.equal((await api.call('GET', path)).body.certificate_management_status, null)
  }
  await assertRejected(
    api,
    async () =>
      api.call('PATCH', `/reserved_domains/${domain.id}`, {
        body: { http_endpoint_configuration_id: addr.endpoint_configuration.id },
      }),
    { status: 400, field: 'http_endpoint_configuration_id', what: 'a configuration of another type' },
  )
})

test('agent ingress: name servers, regional domains and a relative URI', async () => {
  const api = await fresh()

  const created = await api.call.create('/agent_ingresses', { domain: 'tunnel.example.com' })

  assert.equal(created.uri, `/agent_ingresses/${created.id}`)
  assert.deepEqual(created.region_domains, ['tunnel.us.tunnel.example.com'])
  assert.equal(created.ns_targets.length, 4)
  for (const name of created.ns_targets) assert.match(name, /^ns\d\.adit\.localhost\.$/)
  assert.equal(created.certificate_management_policy, null)
  assert.equal(created.certificate_management_status, null)
  const policy = { certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' } }
  const managedResponse = await api.call('PATCH', `/agent_ingresses/${created.id}`, { body: policy })
  assert.ok(managedResponse.body.certificate_management_status.provisioning_job)
})

test('an uploaded certificate authority shows the fields of its certificate', async () => {
  const api = await fresh()
  const { ca, leaf } = await certificates()
  const oracle = new X509Certificate(ca.caPem)
  const toIsoTime = (text: string) => new Date(text).toISOString().replace('.000', '')

  const created = await api.call.create('/certificate_authorities', { ca_pem: ca.caPem })

  assert.equal(created.subject_common_name, 'test root')
  assert.equal(created.not_before, toIsoTime(oracle.validFrom))
  assert.equal(created.not_after, toIsoTime(oracle.validTo))
  assert.deepEqual(created.key_usages, ['cert_sign', 'crl_sign'])
  assert.deepEqual(created.extended_key_usages, [])
  assert.equal(new X509Certificate(created.ca_pem).fingerprint256, oracle.fingerprint256)
  for (const [title, ca_pem] of [
    ['two certificates', `${ca.caPem}${ca.caPem}`],
    ['a leaf', leaf.cert],
    ['a key', leaf.key],
    ['a certificate with a key', `${ca.caPem}${leaf.key}`],
  ] as const)
    await assertRejected(api, () => api.call('POST', '/certificate_authorities', { body: { ca_pem } }), {
      status: 400,
      field: 'ca_pem',
      what: title,
    })
})

async function startEdges() {
  const api = await fresh()
  return { api, host: await hostport(api.call) }
}

test('hostports: reserved names on port 443, one edge each; the bound port is an alias for 443', async () => {
  const { api, host } = await startEdges()
  const boundHost = host.replace(':443', ':8443')

  const edge = await api.call.create('/edges/tls', { hostports: [boundHost] })

  assert.deepEqual(edge.hostports, [host])
  for (const path of ['/edges/tls', '/edges/https'])
    for (const other of [host, boundHost])
      await assertRejected(api, () => api.call('POST', path, { body: { hostports: [other] } }), {
        status: 409,
        what: `${path} ${other}`,
      })
  for (const [title, hostports] of [
    ['twice', [await hostport(api.call)].flatMap((name) => [name, name])],
    [
      'twice in two spellings',
      [await hostport(api.call)].flatMap((name) => [name, name.replace('443', '8443')]),
    ],
  ] as const)
    await assertRejected(api, () => api.call('POST', '/edges/tls', { body: { hostports } }), {
      status: 400,
      field: 'hostports',
      what: title,
    })
  await assertRejected(
    api,
    () => api.call('POST', '/edges/tls', { body: { hostports: [host.replace('443', '80')] } }),
    {
      status: 400,
      field: 'hostports[0]',
      what: 'another port',
    },
  )
  await api.call.create('/reserved_domains', { domain: '*.wild.example.com' })
  for (const name of ['a.wild.example.com:443', 'b.c.wild.example.com:443', '*.wild.example.com:443'])
    await api.call.create('/edges/https', { hostports: [name] })
  await assertRejected(
    api,
    () => api.call('POST', '/edges/tls', { body: { hostports: ['wild.example.com:443'] } }),
    {
      status: 400,
      field: 'hostports[0]',
      what: 'the base of a wildcard',
    },
  )
})

test('a reserved name in use by an edge cannot be deleted', async () => {
  const { api, host } = await startEdges()
  const { addr, id: addrId } = await api.call.create('/reserved_addrs', {})
  const tcp = await api.call.create('/edges/tcp', { hostports: [addr] })
  const tls = await api.call.create('/edges/tls', { hostports: [host] })
  const domains = (await api.call('GET', '/reserved_domains')).body.reserved_domains
  const domainId = domains.find(({ domain }: Body) => `${domain}:443` === host).id

  const rejected = await assertRejected(api, () => api.call('DELETE', `/reserved_domains/${domainId}`), {
    status: 409,
    what: host,
  })
  assert.match(rejected.body.msg, new RegExp(tls.id))
  await assertRejected(api, () => api.call('DELETE', `/reserved_addrs/${addrId}`), {
    status: 409,
    what: addr,
  })
  const wildcard = await api.call.create('/reserved_domains', { domain: '*.more.example.com' })
  const exactDomain = await api.call.create('/reserved_domains', { domain: 'a.more.example.com' })
  const edge = await api.call.create('/edges/https', { hostports: ['a.more.example.com:443'] })
  assert.equal(
    (await api.call('DELETE', `/reserved_domains/${wildcard.id}`)).status,
    204,
    'the exact name is enough',
  )
  await assertRejected(api, () => api.call('DELETE', `/reserved_domains/${exactDomain.id}`), {
    status: 409,
    what: 'the last one',
  })
  for (const path of [`/edges/tcp/${tcp.id}`, `/edges/tls/${tls.id}`, `/edges/https/${edge.id}`])
    assert.equal((await api.call('DELETE', path)).status, 204)
  for (const path of [
    `/reserved_domains/${domainId}`,
    `/reserved_addrs/${addrId}`,
    `/reserved_domains/${exactDomain.id}`,
  ])
    assert.equal((await api.call('DELETE', path)).status, 204, path)
})

test('update rules: an omitted module is kept, a given one is replaced, and null removes nothing', async () => {
  const { api } = await startEdges()
  const backend = await moduleSamples.backend!(api.call)
  const ip_restriction = await moduleSamples.ip_restriction!(api.call)
  const edge = await api.call.create('/edges/tcp', { backend, ip_restriction })
  const path = `/edges/tcp/${edge.id}`

  const updateResponse = await api.call('PATCH', path, {
    body: { backend: { backend_id: backend.backend_id } },
  })
  assert.equal(updateResponse.body.backend.enabled, true)
  assert.deepEqual(updateResponse.body.ip_restriction, edge.ip_restriction)
  const nullResponse = await api.call('PATCH', path, { body: { backend: null, ip_restriction: null } })
  assert.deepEqual(nullResponse.body, updateResponse.body)
  assert.equal((await api.call('DELETE', `${path}/backend`)).status, 204)
  assert.equal((await api.call('GET', path)).body.backend, null)
})

test('tls_termination: termination point, minimum version, and modules that require termination at the edge', async () => {
  const { api } = await startEdges()
  const edge = await api.call.create('/edges/tls', {})
  const path = `/edges/tls/${edge.id}/tls_termination`
  const put = (body: Body) => api.call('PUT', path, { body })

  assert.deepEqual((await put({})).body, { enabled: true, terminate_at: 'upstream', min_version: null })
  for (const min_version of ['1.0', '1.1', '1.2', '1.3', null])
    assert.equal((await put({ terminate_at: 'edge', min_version })).body.min_version, min_version)
  for (const [title, body] of [
    ['an unknown version', { terminate_at: 'edge', min_version: '2.0' }],
    ['an unknown termination point', { terminate_at: 'nowhere' }],
    ['a version where the edge takes no part', { terminate_at: 'upstream', min_version: '1.2' }],
  ] as const)
    await assertRejected(api, () => put(body), { status: 400, what: title })
  const mutualTls = {
    certificate_authority_ids: (await moduleSamples.mutual_tls!(api.call)).certificate_authority_ids,
  }
  assert.equal((await api.call('PUT', `/edges/tls/${edge.id}/mutual_tls`, { body: mutualTls })).status, 200)
  await assertRejected(api, () => put({ terminate_at: 'upstream' }), {
    status: 400,
    what: 'mutual TLS without the edge',
  })
  await assertRejected(api, () => api.call('DELETE', path), {
    status: 400,
    what: 'mutual TLS without termination',
  })
})

test('SAML: response-only fields are filled in, and the signing certificate is stable', async () => {
  const { api } = await startEdges()
  const edge = await api.call.create('/edges/https', {})
  const route = await api.call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
  })
  const path = `/edges/https/${edge.id}/routes/${route.id}/saml`
  const idp_metadata = '<EntityDescriptor entityID="x"/>'

  const { status, body } = await api.call('PUT', path, { body: { idp_metadata } })

  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.nameid_format, 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent')
  assert.deepEqual(
    [body.enabled, body.options_passthrough, body.force_authn, body.allow_idp_initiated, body.cookie_prefix],
    [true, false, false, true, 'adit.'],
  )
  assert.deepEqual([body.inactivity_timeout, body.maximum_duration, body.authorized_groups], [0, 0, []])
  assert.equal(body.entity_id, body.metadata_url)
  for (const field of ['entity_id', 'assertion_consumer_service_url', 'single_logout_url', 'metadata_url'])
    assert.ok(URL.canParse(body[field]) && body[field].includes(route.id), field)
  assert.ok(new X509Certificate(body.request_signing_certificate_pem).checkIssued)
  const second = await api.call('PUT', path, { body: { idp_metadata, force_authn: true } })
  assert.equal(second.body.request_signing_certificate_pem, body.request_signing_certificate_pem)
  for (const [title, input] of [
    ['no metadata', {}],
    ['both kinds of metadata', { idp_metadata, idp_metadata_url: 'https://idp.example.com/metadata' }],
    ['metadata that is not XML', { idp_metadata: 'hello' }],
    ['metadata of something else', { idp_metadata: '<html/>' }],
    ['a response-only field', { idp_metadata, entity_id: 'x' }],
    ['more than 32 bits', { idp_metadata, maximum_duration: 2 ** 32 }],
    ['negative seconds', { idp_metadata, inactivity_timeout: -1 }],
  ] as const)
    await assertRejected(api, () => api.call('PUT', path, { body: input }), { status: 400, what: title })
})

test('OIDC: the client secret is shown, and a route has at most one login module', async () => {
  const { api } = await startEdges()
  const edge = await api.call.create('/edges/https', {})
  const route = await api.call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
  })
  const path = `/edges/https/${edge.id}/routes/${route.id}`
  const oidc = { issuer: 'https://id.example.com', client_id: 'me', client_secret: 'my secret' }

  const { body } = await api.call('PUT', `${path}/oidc`, { body: { ...oidc, scopes: ['profile'] } })

  assert.equal(body.client_secret, 'my secret')
  assert.deepEqual(body.scopes, ['profile'])
  assert.equal((await api.call('GET', `${path}/oidc`)).body.client_secret, 'my secret')
  assert.equal(
    (await api.call('GET', `/edges/https/${edge.id}`)).body.routes[0].oidc.client_secret,
    'my secret',
  )
  await assertRejected(
    api,
    () => api.call('PUT', `${path}/saml`, { body: { idp_metadata: '<EntityDescriptor/>' } }),
    {
      status: 400,
      what: 'two log-ins',
    },
  )
  const disabledResponse = await api.call('PUT', `${path}/saml`, {
    body: { enabled: false, idp_metadata: '<EntityDescriptor/>' },
  })
  assert.equal(disabledResponse.status, 200)
  await assertRejected(api, () => api.call('PUT', `${path}/oidc`, { body: { ...oidc, issuer: 'ftp://x' } }), {
    status: 400,
    field: 'issuer',
    what: 'an issuer that is not a URL',
  })
  const publicClient = { ...oidc, client_secret: '' }
  assert.equal((await api.call('PUT', `${path}/oidc`, { body: publicClient })).status, 200)
  await assertRejected(
    api,
    () =>
      api.call('PUT', `${path}/oidc`, {
        body: { ...publicClient, token_endpoint_auth_method: 'client_secret_basic' },
      }),
    { status: 400, field: 'client_secret', what: 'a method that needs a secret' },
  )
  const unknownMethod = { ...oidc, token_endpoint_auth_method: 'bearer' }
  const { body: rejection } = await api.call('PUT', `${path}/oidc`, { body: unknownMethod })
  assert.match(rejection.msg, /must be one of empty, client_secret_basic, client_secret_post, none/)
})

test('HTTP response backends: header names are lower case, and no headers is null', async () => {
  const api = await fresh()

  const created = await api.call.create('/backends/http_response', { headers: { 'X-Mixed-Case': 'Value' } })

  assert.deepEqual(created.headers, { 'x-mixed-case': 'Value' })
  assert.equal((await api.call.create('/backends/http_response', {})).headers, null)
  assert.equal((await api.call.create('/backends/http_response', { headers: {} })).headers, null)
})

test('tunnel groups list the online tunnels that match all labels', async (t) => {
  const online = createOnline()
  const api = await startApi(t, { online })
  const { tunnel } = online.putOnline(api.account.accountId, api.url)

  const matching = await api.call.create('/backends/tunnel_group', { labels: { team: 'blue' } })
  const unmatched = await api.call.create('/backends/tunnel_group', { labels: { team: 'blue', app: 'db' } })

  assert.deepEqual(matching.tunnels, [{ id: tunnel, uri: `${api.url}/tunnels/${tunnel}` }])
  assert.deepEqual(unmatched.tunnels, [])
})

test('weights range from 0 to 10000, and nested backends are acyclic and limited in depth', async () => {
  const api = await fresh()
  const child = (await api.call.create('/backends/http_response', {})).id
  for (const weight of [0, 10_000])
    assert.deepEqual(
      (await api.call.create('/backends/weighted', { backends: { [child]: weight } })).backends,
      {
        [child]: weight,
      },
    )
  for (const weight of [-1, 10_001, 1.5])
    await assertRejected(
      api,
      () => api.call('POST', '/backends/weighted', { body: { backends: { [child]: weight } } }),
      {
        status: 400,
        field: `backends.${child}`,
        what: `weight ${weight}`,
      },
    )
  const upper = await api.call.create('/backends/failover', { backends: [child] })
  const lower = await api.call.create('/backends/weighted', { backends: { [upper.id]: 1 } })
  for (const [path, body] of [
    [`/backends/failover/${upper.id}`, { backends: [lower.id] }],
    [`/backends/failover/${upper.id}`, { backends: [upper.id] }],
    [`/backends/weighted/${lower.id}`, { backends: { [lower.id]: 1 } }],
  ] as const)
    await assertRejected(api, () => api.call('PATCH', path, { body }), {
      status: 400,
      field: 'backends',
      what: path,
    })
  const rejected = await assertRejected(api, () => api.call('DELETE', `/backends/http_response/${child}`), {
    status: 409,
    what: 'a backend in use',
  })
  assert.match(rejected.body.msg, /still used by/)
  await assertRejected(
    api,
    () => api.call('POST', '/backends/failover', { body: { backends: [child, child] } }),
    {
      status: 400,
      field: 'backends',
      what: 'a child twice',
    },
  )
  let deepest = child
  for (let depth = 0; depth < 8; depth++)
    deepest = (await api.call.create('/backends/failover', { backends: [deepest] })).id
  await assertRejected(api, () => api.call('POST', '/backends/failover', { body: { backends: [deepest] } }), {
    status: 400,
    field: 'backends',
    what: 'nine deep',
  })
})

test('event destinations: exactly one target and one kind of authentication, and secrets are never shown', async () => {
  const api = await fresh()
  const role = { role_arn: 'arn:aws:iam::123456789012:role/sender' }
  const creds = { cloud_access_key_id: 'AKIA', cloud_secret_access_key: 'hush' }
  const targets: Record<string, Body> = {
    firehose: {
      auth: { role },
      delivery_stream_arn: 'arn:aws:firehose:us-east-1:123456789012:deliverystream/x',
    },
    kinesis: { auth: { creds }, stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x' },
    cloudwatch_logs: { auth: { role }, log_group_arn: 'arn:aws:logs:us-east-1:123456789012:log-group:x' },
    monitoring: { api_key: 'hush', ddtags: 'a:b', service: 'web', ddsite: 'datadoghq.eu' },
    s3: { auth: { role }, bucket_arn: 'arn:aws:s3:::my-bucket' },
    azure_logs_ingestion: {
      tenant_id: 't',
      client_id: 'c',
      client_secret: 'hush',
      logs_ingestion_uri: 'https://ours.ingest.monitor.azure.com',
      data_collection_rule_id: 'dcr-1',
      data_collection_stream_name: 'Custom-Events_CL',
    },
  }
  for (const [member, settings] of Object.entries(targets)) {
    const created = await api.call.create('/event_destinations', {
      format: 'JSON',
      target: { [member]: settings },
    })
    assert.equal(created.format, 'JSON')
    assert.ok(!JSON.stringify(created).includes('hush'), member)
    for (const [other, value] of Object.entries(created.target as Body))
      assert.equal(value === null, other !== member, other)
    const { auth } = created.target[member]
    if (auth !== undefined) assert.equal((auth.role === null) !== (auth.creds === null), true)
    if (auth?.creds) assert.equal(auth.creds.cloud_access_key_id, 'AKIA')
    if (auth?.role) assert.deepEqual(auth.role, role)
  }
  const { kinesis, monitoring } = targets
  for (const [title, target] of [
    ['no target', {}],
    ['two targets', { kinesis, monitoring }],
    ['no way in', { kinesis: { ...kinesis, auth: {} } }],
    ['two ways in', { kinesis: { ...kinesis, auth: { role, creds } } }],
    ['another service', { kinesis: { auth: { role }, stream_arn: 'arn:aws:sqs:us-east-1:1:x' } }],
    ['an unknown target', { carrier_pigeon: {} }],
    ['a password in the address', { webhook: { url: 'https://a:b@example.com/', secret: 'x' } }],
    ['a key that is not base64', { webhook: { url: 'https://example.com/', secret: 'whsec_no-key' } }],
    ['a key that is cut off', { webhook: { url: 'https://example.com/', secret: 'whsec_abcde' } }],
    ['an empty key', { webhook: { url: 'https://example.com/', secret: 'whsec_' } }],
  ] as const)
    await assertRejected(
      api,
      () => api.call('POST', '/event_destinations', { body: { format: 'json', target } }),
      {
        status: 400,
        what: title,
      },
    )
  await assertRejected(
    api,
    () => api.call('POST', '/event_destinations', { body: { format: 'xml', target: { monitoring } } }),
    { status: 400, field: 'format', what: 'another format' },
  )
})

test('a destination in use by a subscription cannot be deleted', async () => {
  const api = await fresh()
  const destination = await api.call.create('/event_destinations', {
    target: { monitoring: { api_key: 'k' } },
  })
  const subscription = await api.call.create('/event_subscriptions', {
    destination_ids: [destination.id],
    sources: [{ type: 'ip_policy_created.v0' }],
  })

  const rejected = await assertRejected(
    api,
    () => api.call('DELETE', `/event_destinations/${destination.id}`),
    {
      status: 409,
      what: 'in use',
    },
  )

  assert.match(rejected.body.msg, new RegExp(subscription.id))
})

test('event sources are sub-resources of a subscription with their own URIs', async () => {
  const api = await fresh()
  const { id } = await api.call.create('/event_subscriptions', {})
  const path = `/event_subscriptions/${id}/sources`

  const created = await api.call('POST', path, { body: { type: 'ip_policy_created.v0' } })

  assert.equal(created.status, 201)
  const uri = `${api.url}${path}/ip_policy_created.v0`
  assert.deepEqual(created.body, { type: 'ip_policy_created.v0', filter: '', fields: [], uri })
  assert.deepEqual((await api.call('GET', path)).body, { sources: [created.body], uri: `${api.url}${path}` })
  assert.deepEqual((await api.call('GET', `/event_subscriptions/${id}`)).body.sources, [created.body])
  assert.deepEqual((await api.call('PATCH', uri, { body: {} })).body, created.body)
  await assertRejected(api, () => api.call('POST', path, { body: { type: 'ip_policy_created.v0' } }), {
    status: 409,
    what: 'twice',
  })
  await assertRejected(api, () => api.call('PATCH', uri, { body: { fields: ['x'] } }), {
    status: 400,
    what: 'fields of an event that has none',
  })
  const traffic = { type: 'http_request_complete.v0', fields: ['conn.client_ip', 'http.request.method'] }
  assert.deepEqual((await api.call('POST', path, { body: traffic })).body.fields, traffic.fields)
  assert.equal((await api.call('DELETE', uri)).status, 204)
  assert.equal((await api.call('GET', uri)).status, 404)
  assert.equal((await api.call('DELETE', uri)).status, 404)
})

test('a policy in use by a module cannot be deleted, and deleting a policy deletes its rules', async () => {
  const api = await fresh()
  const policy = await api.call.create('/ip_policies', {})
  const rule = await api.call.create('/ip_policy_rules', {
    cidr: '::/0',
    action: 'allow',
    ip_policy_id: policy.id,
  })
  const edge = await api.call.create('/edges/tcp', { ip_restriction: { ip_policy_ids: [policy.id] } })

  const rejected = await assertRejected(api, () => api.call('DELETE', `/ip_policies/${policy.id}`), {
    status: 409,
    what: 'used',
  })
  assert.match(rejected.body.msg, new RegExp(`${edge.id}.*ip_restriction`))
  assert.equal((await api.call('DELETE', `/edges/tcp/${edge.id}/ip_restriction`)).status, 204)
  assert.equal((await api.call('DELETE', `/ip_policies/${policy.id}`)).status, 204)
  assert.equal((await api.call('GET', `/ip_policy_rules/${rule.id}`)).status, 404)
})

test('deleting an edge deletes its routes', async () => {
  const api = await fresh()
  const edge = await api.call.create('/edges/https', {})
  const created = []
  for (const match of ['/', '/a', '/b'])
    created.push(
      await api.call.create(`/edges/https/${edge.id}/routes`, { match_type: 'path_prefix', match }),
    )

  const { routes } = (await api.call('GET', `/edges/https/${edge.id}`)).body
  assert.deepEqual(routes, created)
  await assertRejected(
    api,
    () =>
      api.call('POST', `/edges/https/${edge.id}/routes`, {
        body: { match_type: 'path_prefix', match: '/a' },
      }),
    { status: 409, what: 'the same path twice' },
  )
  assert.equal((await api.call('DELETE', `/edges/https/${edge.id}`)).status, 204)
  assert.equal((await api.call('GET', `/edges/https/${edge.id}/routes/${created[0].id}`)).status, 404)
})

test('versioning: the optional header must be 2, and paths carry no version', async () => {
  const api = await fresh()
  assert.equal((await api.call('GET', '/api_keys')).status, 200)
  assert.equal((await api.call('GET', '/api_keys', { headers: { 'service-version': '2' } })).status, 200)
  for (const version of ['1', '3', '2.0', '', 'two'])
    await assertRejected(
      api,
      () => api.call('GET', '/api_keys', { headers: { 'service-version': version } }),
      {
        status: 400,
        what: `version ${version}`,
      },
    )
  assert.equal((await api.call('GET', '/v2/api_keys')).status, 404)
})

test('names are unique within an account, not across accounts', async () => {
  const api = await fresh()
  const third = await createAccount(api.store, {
    name: `third${nextNumber()}`,
    email: 'a@example.com',
    clock: systemClock,
  })
  const call = api.client(third.apiKey.reveal())
  await api.call.create('/bot_users', { name: 'robot' })
  await api.call.create('/users', { email: 'same@example.com' })

  assert.equal((await call('POST', '/bot_users', { body: { name: 'robot' } })).status, 201)
  assert.equal((await call('POST', '/users', { body: { email: 'same@example.com' } })).status, 201)
  assert.equal((await call('POST', '/bot_users', { body: { name: 'robot' } })).status, 409)
})

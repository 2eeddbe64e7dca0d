import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allResources, BACKEND_PREFIXES, EVENT_TYPES, InvalidValue, Oauth, resources } from './index.ts'

test('every resource is listed under the kind of its rows', () => {
  for (const [kind, resource] of Object.entries(resources)) assert.equal(resource.kind, kind)
})

test('prefixes are unique', () => {
  const prefixes = allResources.map((resource) => resource.prefix)

  assert.equal(new Set(prefixes).size, prefixes.length)
})

test('every resource with an event stem has its three event types', () => {
  for (const { event } of allResources)
    if (event !== undefined)
      for (const what of ['created', 'updated', 'deleted'])
        assert.ok(EVENT_TYPES.has(`${event}_${what}.v0`), event)
})

test('text limits count bytes, not characters', () => {
  const { parseCreate } = resources.ip_policies

  assert.equal(parseCreate({ description: 'é'.repeat(127) }).description.length, 127)
  assert.throws(() => parseCreate({ description: 'é'.repeat(128) }), InvalidValue)
  assert.throws(() => parseCreate({ metadata: '🙂'.repeat(1025) }), { field: 'metadata' })
})

test('a created record is complete: fields missing from the request have their default', () => {
  const record = resources.credentials.parseCreate({})

  assert.deepEqual(record, {
    description: '',
    metadata: '',
    acl: [],
    owner_id: '',
    managed_name: null,
    token_digest: '',
  })
})

test('a record stored before a field existed shows its default', () => {
  const { parseCreate, render, pointers } = resources.reserved_domains
  const { resolves_to, certificate_id, ...stored } = parseCreate({ domain: 'a.example.com' })

  const view = render(stored as never, {}, { secrets: true, uriOf: (target) => target })

  assert.deepEqual([view.resolves_to, view.certificate], [resolves_to, certificate_id])
  assert.deepEqual(pointers(stored as never), [])
})

test('settings of a module stored before a field existed are completed, in nested objects too', () => {
  const { complete, check, render } = Oauth.value
  const google = { client_id: 'a', client_secret: 'b' }
  const settings = check({ provider: { google } } as never, 'oauth')
  const { auth_check_interval, provider, ...older } = settings
  const { authorized_claims, ...olderGoogle } = provider.google!
  const stored = { ...older, provider: { ...provider, google: olderGoogle } }

  assert.deepEqual(complete?.(stored as never), settings)
  const view = render(stored as never, { secrets: true, uriOf: (target) => target })
  assert.deepEqual([view.auth_check_interval, view.provider.google?.authorized_claims], [0, []])
})

test('an update contains only the fields of the request', () => {
  assert.deepEqual(resources.credentials.parseUpdate({ metadata: 'x', description: null }), { metadata: 'x' })
})

test('references are written as ids and read as Refs', () => {
  const id = 'ipp_000000000000000000000000000'
  const record = resources.ip_policy_rules.parseCreate({
    cidr: '10.0.0.0/8',
    action: 'allow',
    ip_policy_id: id,
  })

  const view = resources.ip_policy_rules.render(
    record,
    { id: 'ipr_1' },
    { secrets: true, uriOf: (target) => `u/${target}` },
  )

  assert.equal(record.ip_policy_id, id)
  assert.deepEqual(view.ip_policy, { id, uri: `u/${id}` })
  assert.deepEqual(resources.ip_policy_rules.pointers(record), [
    { target: id, prefixes: ['ipp'], onDelete: 'cascade', path: 'ip_policy_id' },
  ])
})

test('secrets inside modules are listed by path', () => {
  assert.ok(resources.edges_https_routes.sealed.includes('oidc.client_secret'))
  assert.ok(
    resources.event_destinations.sealed.includes('target.firehose.auth.creds.cloud_secret_access_key'),
  )
  assert.ok(resources.tls_certificates.sealed.includes('private_key_pem'))
})

test('times are RFC 3339 with an offset and a valid day, and are stored in UTC', () => {
  const parse = (valid_until: string) =>
    resources.ssh_user_certificates.parseCreate({
      public_key: 'k',
      ssh_certificate_authority_id: 'sshca_000000000000000000000000000',
      valid_until,
    }).valid_until

  assert.equal(parse('2030-01-31T12:00:00Z'), '2030-01-31T12:00:00Z')
  assert.equal(parse('2030-01-31T12:00:00.999+02:00'), '2030-01-31T10:00:00Z')
  for (const invalid of [
    '2030-01-31T12:00:00', // no offset
    '2030-02-30T12:00:00Z',
    '2030-01-31T24:00:00Z',
    '2030-01-31 12:00:00Z',
    '2030-01-31',
    '1900000000',
    '9999-12-31T23:59:59-01:00',
    'tomorrow',
    '',
  ])
    assert.throws(() => parse(invalid), { field: 'valid_until' }, invalid)
})

test('a map validates the value of every key, whatever characters the key has', () => {
  const schema = resources.backends_tunnel_group.createSchema as unknown as {
    properties: { labels: { additionalProperties: { type: string } } }
  }

  assert.equal(schema.properties.labels.additionalProperties.type, 'string')
})

test('references of a weighted backend have the path of their entry', () => {
  const child = 'bkdhr_000000000000000000000000000'
  const record = resources.backends_weighted.parseCreate({ backends: { [child]: 1 } })

  assert.equal(resources.backends_weighted.pointers(record)[0]?.path, `backends.${child}`)
})

test('headers are null when absent or empty', () => {
  assert.equal(resources.backends_http_response.parseCreate({}).headers, null)
  assert.equal(resources.backends_http_response.parseCreate({ headers: {} }).headers, null)
  assert.deepEqual(resources.backends_http_response.parseUpdate({ headers: {} }), { headers: null })
})

test('unique names must not contain control characters', () => {
  assert.throws(() => resources.bot_users.parseCreate({ name: 'a\0b' }), { field: 'name' })
  assert.throws(() => resources.users.parseCreate({ email: 'a\0@example.com' }), { field: 'email' })
})

test('the cookie prefix defaults to the name of the service', () => {
  const oidc = { issuer: 'https://id.example.com', client_id: 'a', client_secret: 'b' }
  const route = (settings: object) =>
    resources.edges_https_routes.parseUpdate({ oidc: settings }).oidc?.cookie_prefix

  assert.equal(route(oidc), 'adit.')
  assert.equal(route({ ...oidc, cookie_prefix: '' }), 'adit.')
  assert.equal(route({ ...oidc, cookie_prefix: 'mine.' }), 'mine.')
  assert.throws(() => route({ ...oidc, cookie_prefix: '__Host-x' }), { field: 'oidc.cookie_prefix' })
})

test('a required URL must not be empty', () => {
  const oidc = { issuer: '', client_id: 'a', client_secret: 'b' }
  const webhook = { url: '', secret: 's' }

  assert.throws(() => resources.edges_https_routes.parseUpdate({ oidc }), { field: 'oidc.issuer' })
  assert.throws(() => resources.event_destinations.parseCreate({ target: { webhook } }), {
    field: 'target.webhook.url',
  })
  const saml = { idp_metadata: '<EntityDescriptor/>', idp_metadata_url: '' }
  assert.equal(resources.edges_https_routes.parseUpdate({ saml }).saml?.idp_metadata_url, '')
})

test('a static backend has a port from 1 to 65535, whatever its host is', () => {
  const parse = (address: string) => resources.backends_static.parseCreate({ address }).address

  for (const host of ['localhost', 'db', 'db.example.com', '192.0.2.1', '[2001:db8::1]']) {
    assert.equal(parse(`${host}:65535`), `${host}:65535`)
    for (const port of ['0', '65536', '99999', ''])
      assert.throws(() => parse(`${host}:${port}`), { field: 'address' }, `${host}:${port}`)
  }
})

test('all text is well-formed Unicode', () => {
  const half = 'a\ud800b'
  const certificate = {
    public_key: 'k',
    ssh_certificate_authority_id: 'sshca_000000000000000000000000000',
  }

  assert.throws(() => resources.ip_policies.parseCreate({ metadata: half }), { field: 'metadata' })
  assert.throws(() => resources.ssh_user_certificates.parseCreate({ ...certificate, principals: [half] }), {
    field: 'principals[0]',
  })
  assert.throws(
    () => resources.ssh_user_certificates.parseCreate({ ...certificate, extensions: { [half]: '' } }),
    { field: 'extensions' },
  )
  const github = { client_id: 'a', client_secret: 'b', email_domains: [half] }
  assert.throws(() => resources.edges_https_routes.parseUpdate({ oauth: { provider: { github } } }), {
    field: 'oauth.provider.github.email_domains[0]',
  })
  assert.equal(resources.ip_policies.parseCreate({ metadata: '🙂' }).metadata, '🙂')
})

test('header values must not contain control characters other than tabs', () => {
  const backend = (value: string) =>
    resources.backends_http_response.parseCreate({ headers: { 'X-One': value } })
  const route = (module: string, value: string) =>
    resources.edges_https_routes.parseUpdate({ [module]: { add: { 'X-One': value } } })

  for (const wrong of ['a\0b', 'a\x01b', 'a\rb', 'a\nb', 'a\x1bb', 'a\x7f']) {
    assert.throws(() => backend(wrong), { field: 'headers.X-One' })
    for (const module of ['request_headers', 'response_headers'])
      assert.throws(() => route(module, wrong), { field: `${module}.add.X-One` })
  }
  assert.deepEqual(backend('a\tb → ü').headers, { 'x-one': 'a\tb → ü' })
})

test('a domain is a name that can be registered', () => {
  const parse = (domain: string) => resources.reserved_domains.parseCreate({ domain }).domain

  for (const name of ['app.example.com', '*.xn--mnchen-3ya.de', 'xn--p1ai', '1.example.com', '1a.2b'])
    assert.equal(parse(name), name)
  for (const wrong of ['192.0.2.1', '*.2.1', '10.1', 'a.example.1', 'xn--zzz17909.example.com', 'a.xn--a'])
    assert.throws(() => parse(wrong), { field: 'domain' }, wrong)
})

test('routes and backends can refer to every kind of backend', () => {
  const backends = allResources.filter(({ kind }) => kind.startsWith('backends_'))

  assert.deepEqual(
    backends.map(({ prefix }) => prefix),
    [...BACKEND_PREFIXES],
  )
})

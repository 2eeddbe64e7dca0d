import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allResources, EVENT_TYPES, InvalidValue, resources } from './index.ts'

test('every resource stands in the list under the kind its rows are stored as', () => {
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

test('a record is complete: what a creation does not give has its default', () => {
  const record = resources.credentials.parseCreate({})

  assert.deepEqual(record, { description: '', metadata: '', acl: [], owner_id: '', token_digest: '' })
})

test('an update holds only the fields it names', () => {
  assert.deepEqual(resources.credentials.parseUpdate({ metadata: 'x', description: null }), { metadata: 'x' })
})

test('references are written as ids and read as addresses', () => {
  const id = 'ipp_000000000000000000000000000'
  const record = resources.ip_policy_rules.parseCreate({
    cidr: '10.0.0.0/8',
    action: 'allow',
    ip_policy_id: id,
  })

  const view = resources.ip_policy_rules.show(record, { id: 'ipr_1' }, { uriOf: (target) => `u/${target}` })

  assert.equal(record.ip_policy_id, id)
  assert.deepEqual(view.ip_policy, { id, uri: `u/${id}` })
  assert.deepEqual(resources.ip_policy_rules.pointers(record), [
    { target: id, prefixes: ['ipp'], onDelete: 'cascade', at: 'ip_policy_id' },
  ])
})

test('secrets inside modules are known by their path', () => {
  assert.ok(resources.edges_https_routes.sealed.includes('oidc.client_secret'))
  assert.ok(
    resources.event_destinations.sealed.includes('target.firehose.auth.creds.cloud_secret_access_key'),
  )
  assert.ok(resources.tls_certificates.sealed.includes('private_key_pem'))
})

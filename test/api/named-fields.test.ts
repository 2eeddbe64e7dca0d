import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareApi, type TestApi } from '../support/api.ts'
import { assertRejected } from '../support/assert-rejected.ts'
import { certificates } from '../support/samples.ts'
import { generateSshPublicKey } from '../support/ssh-keys.ts'

const { fresh } = await shareApi()

/** `details.field` names the request field that is wrong or missing, by its path in the request. */

async function createRoute(api: TestApi): Promise<string> {
  const edge = await api.call.create('/edges/https', {})
  const route = await api.call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
  })
  return `/edges/https/${edge.id}/routes/${route.id}`
}

test('a rule across fields of a module names the field to correct, for every method that writes it', async () => {
  const api = await fresh()
  const route = await createRoute(api)
  const edge = `/edges/tls/${(await api.call.create('/edges/tls', {})).id}`
  for (const [path, module, body, field] of [
    [route, 'saml', {}, 'idp_metadata'],
    [
      route,
      'saml',
      { idp_metadata: '<EntityDescriptor/>', idp_metadata_url: 'https://idp.example.com' },
      'idp_metadata_url',
    ],
    [route, 'webhook_verification', { provider: 'github' }, 'secret'],
    [route, 'webhook_verification', { provider: 'sns', secret: 'x' }, 'secret'],
    [route, 'request_headers', { remove: ['x-one', 'host'] }, 'remove[1]'],
    [route, 'oauth', { provider: { github: { client_id: 'a' } } }, 'provider.github.client_secret'],
    [route, 'oauth', { provider: {} }, 'provider'],
    [edge, 'tls_termination', { terminate_at: 'upstream', min_version: '1.2' }, 'min_version'],
  ] as const) {
    await assertRejected(api, () => api.call('PUT', `${path}/${module}`, { body }), {
      status: 400,
      field,
      what: `PUT ${module} ${JSON.stringify(body)}`,
    })
    await assertRejected(api, () => api.call('PATCH', path, { body: { [module]: body } }), {
      status: 400,
      field: `${module}.${field}`,
      what: `PATCH ${module} ${JSON.stringify(body)}`,
    })
  }
})

test('a conflict with stored configuration names no request field', async () => {
  const api = await fresh()
  const route = await createRoute(api)
  const { ca } = await certificates()
  const authority = await api.call.create('/certificate_authorities', { ca_pem: ca.caPem })
  const edge = await api.call.create('/edges/tls', {})
  const oidc = { issuer: 'https://id.example.com', client_id: 'a', client_secret: 'b' }
  assert.equal((await api.call('PUT', `${route}/oidc`, { body: oidc })).status, 200)

  for (const [path, body] of [
    [`${route}/saml`, { idp_metadata_url: 'https://idp.example.com/metadata' }],
    [`/edges/tls/${edge.id}/mutual_tls`, { certificate_authority_ids: [authority.id] }],
  ] as const) {
    const response = await assertRejected(api, () => api.call('PUT', path, { body }), {
      status: 400,
      what: path,
    })
    assert.equal(response.body.details.field, undefined)
  }
})

test('a body that is not an object names no field', async () => {
  const api = await fresh()

  const response = await assertRejected(api, () => api.call('POST', '/ip_policies', { raw: '[]' }), {
    status: 400,
    what: 'a list',
  })

  assert.equal(response.body.details.field, undefined)
})

test('an error in an event source names the field as the request spells it', async () => {
  const api = await fresh()
  const { id } = await api.call.create('/event_subscriptions', {
    sources: [{ type: 'ip_policy_created.v0' }, { type: 'tcp_connection_closed.v0' }],
  })
  const basePath = `/event_subscriptions/${id}/sources`
  const http = 'http_request_complete.v0'
  for (const [method, path, body, field] of [
    ['POST', basePath, { type: 'nothing.v0' }, 'type'],
    ['POST', basePath, { type: 'ip_policy_deleted.v0', fields: ['conn.client_ip'] }, 'fields'],
    ['POST', basePath, { type: 'ip_policy_deleted.v0', filter: 'true' }, 'filter'],
    ['POST', basePath, { type: http, fields: ['conn.client_ip', 'no.such'] }, 'fields[1]'],
    ['POST', basePath, { type: http, filter: 'ev.(' }, 'filter'],
    ['PATCH', `${basePath}/tcp_connection_closed.v0`, { fields: ['no.such'] }, 'fields[0]'],
    ['PATCH', `${basePath}/tcp_connection_closed.v0`, { filter: 'ev.(' }, 'filter'],
  ] as const)
    await assertRejected(api, () => api.call(method, path, { body }), {
      status: 400,
      field,
      what: `${method} ${JSON.stringify(body)}`,
    })
})

test('a time that an SSH certificate cannot carry is reported with its field', async () => {
  const api = await fresh()
  const authority = await api.call.create('/ssh_certificate_authorities', {})
  const body = { ssh_certificate_authority_id: authority.id, public_key: generateSshPublicKey() }
  for (const [times, field] of [
    [{ valid_after: '1960-01-01T00:00:00Z' }, 'valid_after'],
    [{ valid_after: '1960-01-01T00:00:00Z', valid_until: '2030-01-01T00:00:00Z' }, 'valid_after'],
    [{ valid_until: '1960-01-01T00:00:00Z' }, 'valid_until'],
    [{ valid_after: '9999-12-31T23:59:59Z' }, 'valid_after'],
    [{ valid_after: '2030-01-01T00:00:00Z', valid_until: '2029-01-01T00:00:00Z' }, 'valid_until'],
  ] as const)
    for (const path of ['/ssh_user_certificates', '/ssh_host_certificates'])
      await assertRejected(api, () => api.call('POST', path, { body: { ...body, ...times } }), {
        status: 400,
        field,
        what: `${path} ${JSON.stringify(times)}`,
      })
})

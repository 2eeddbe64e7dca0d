import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestApi } from '../../../test/support/api.ts'
import { assertRejected } from '../../../test/support/assert-rejected.ts'
import { engines } from '../../../test/support/engines.ts'
import {
  type Body,
  collectionPath,
  moduleSamples,
  type StoredKind,
  samples,
} from '../../../test/support/samples.ts'
import { invalidBodies } from '../../../test/support/wrong-values.ts'
import { resources } from '../../resources/index.ts'
import { moduleRoutes } from '../routes.ts'

const KINDS = [
  'endpoint_configurations',
  'edges_https',
  'edges_https_routes',
  'edges_tls',
  'edges_tcp',
] as const

/** Fields of a module that responses show in another form than requests. */
const SHOWN_AS: Record<string, string> = {
  backend_id: 'backend',
  ip_policy_ids: 'ip_policies',
  certificate_authority_ids: 'certificate_authorities',
}

/** Fields that may have one value only, at least of some resources. */
const ONE_CHOICE = ['terminate_at', 'auth_provider_id']

/** What a resource requires beside its modules. */
const REQUIRED: Partial<Record<StoredKind, Body>> = {
  endpoint_configurations: { type: 'https' },
  edges_https_routes: { match_type: 'path_prefix' },
}

async function createOwner(
  api: TestApi,
  kind: StoredKind,
  module: string,
): Promise<{ path: string; id: string }> {
  const parents = (await samples[kind].parents?.(api.call)) ?? {}
  const body: Body = { ...REQUIRED[kind] }
  if (kind === 'edges_https_routes') body.match = `/${module}`
  // Mutual TLS requires TLS termination at the edge.
  if (kind === 'edges_tls' && module === 'mutual_tls') body.tls_termination = { terminate_at: 'edge' }
  const path = collectionPath(kind, parents)
  return { path, id: (await api.call.create(path, body)).id }
}

function assertShown(answer: Body, body: Body, url: string): void {
  for (const [key, value] of Object.entries(body)) {
    const name = SHOWN_AS[key] ?? key
    if (key === 'provider' && typeof value === 'object') continue
    const read = answer[name]
    if (name === key) assert.deepEqual(read, value, key)
    else if (Array.isArray(value))
      assert.deepEqual(
        (read as { id: string }[]).map(({ id }) => id),
        value,
        key,
      )
    else {
      assert.equal((read as { id: string }).id, value, key)
      assert.ok((read as { uri: string }).uri.startsWith(url), key)
    }
  }
}

async function checkModule(api: TestApi, kind: StoredKind, module: string, thorough: boolean): Promise<void> {
  const resource = resources[kind]
  const routes = moduleRoutes(resource, module)
  const sample = moduleSamples[module]
  assert.ok(sample, `the module ${module} has no sample`)
  const { path, id } = await createOwner(api, kind, module)
  const owner = `${path}/${id}`
  const modulePath = `${owner}/${module}`
  const body = await sample(api.call)
  if (kind === 'edges_https' && module === 'tls_termination') body.terminate_at = 'edge'
  const { required = [] } = routes.replace.body as { required?: string[] }
  const minimal = Object.fromEntries(required.map((field) => [field, body[field]]))
  // Not required by the schema, but by the module's rules.
  if (module === 'saml') minimal.idp_metadata = body.idp_metadata
  if (module === 'webhook_verification' || module === 'webhook_validation') minimal.secret = body.secret

  for (const method of ['GET', 'DELETE'])
    await assertRejected(api, () => api.call(method, modulePath), {
      status: 404,
      what: `${method} of an unset ${module}`,
    })

  const put = await api.call('PUT', modulePath, { body })
  assert.equal(put.status, 200, JSON.stringify(put.body))
  assertShown(put.body, body, api.url)
  assert.deepEqual(
    Object.keys(put.body),
    Object.keys((routes.get.response as unknown as { properties: object }).properties),
  )
  assert.deepEqual((await api.call('GET', modulePath)).body, put.body)
  const before = (await api.call('GET', owner)).body
  assert.deepEqual(before[module], put.body)

  // An update keeps a module it does not name and replaces one it names completely.
  const described = await api.call('PATCH', owner, { body: { description: 'touched', [module]: null } })
  assert.deepEqual(described.body, { ...before, description: 'touched' })
  const replaced = await api.call('PATCH', owner, { body: { [module]: minimal } })
  assert.equal(replaced.status, 200, JSON.stringify(replaced.body))
  assert.equal(replaced.body[module].enabled, true, 'enabled is true by default')
  const again = await api.call('PUT', modulePath, { body: minimal })
  assert.deepEqual(again.body, replaced.body[module], 'PUT and PATCH replace alike')
  for (const [field, value] of Object.entries(body))
    if (!(field in minimal) && SHOWN_AS[field] === undefined && !ONE_CHOICE.includes(field))
      assert.notDeepEqual(again.body[field], value, `${field} is left over from the previous module`)
  const { [module]: _replaced, ...others } = (await api.call('GET', owner)).body
  const { [module]: _before, ...othersBefore } = described.body
  assert.deepEqual(others, othersBefore)

  for (const field of required) {
    const { [field]: _gone, ...without } = body
    await assertRejected(api, () => api.call('PUT', modulePath, { body: without }), {
      status: 400,
      field,
      what: `no ${field}`,
    })
  }
  for (const wrong of invalidBodies(routes.replace.body, body, thorough))
    await assertRejected(api, () => api.call('PUT', modulePath, { body: wrong.body }), {
      status: 400,
      field: wrong.field,
      what: `${module}.${wrong.field} ${wrong.why}`,
    })
  for (const [field, value] of Object.entries(body))
    if (SHOWN_AS[field] !== undefined) {
      const list = Array.isArray(value)
      const [first] = [value].flat() as string[]
      const unknown = `${first!.split('_')[0]}_${'0'.repeat(27)}`
      await assertRejected(
        api,
        () => api.call('PUT', modulePath, { body: { ...body, [field]: list ? [unknown] : unknown } }),
        {
          status: 400,
          field: list ? `${field}[0]` : field,
          what: `${module} with an unknown reference`,
        },
      )
    }
  const nowhere = `${path}/${resource.prefix}_${'0'.repeat(27)}/${module}`
  for (const method of ['GET', 'PUT', 'DELETE'])
    await assertRejected(api, () => api.call(method, nowhere, method === 'PUT' ? { body } : {}), {
      status: 404,
      what: `${method} ${module} of nothing`,
    })
  assert.deepEqual((await api.call('GET', modulePath)).body, again.body)

  const deleted = await api.call('DELETE', modulePath)
  assert.equal(deleted.status, 204)
  assert.equal(deleted.body, '')
  await assertRejected(api, () => api.call('GET', modulePath), {
    status: 404,
    what: `${module} after its deletion`,
  })
  assert.deepEqual((await api.call('GET', owner)).body, { ...othersBefore, [module]: null })
}

for (const [engine, start] of Object.entries(engines))
  test(`every module on ${engine}`, async (t) => {
    const api = await start(t)
    for (const kind of KINDS)
      for (const module of resources[kind].modules)
        await t.test(`${kind} ${module}`, () => checkModule(api, kind, module, engine === 'SQLite'))
  })

test('every resource that has modules has its modules tested', () => {
  const withModules = Object.entries(resources).filter(([, { modules }]) => modules.length > 0)

  assert.deepEqual(
    withModules.map(([kind]) => kind),
    [...KINDS],
  )
})

test('a route is found under its own edge only', async (t) => {
  const api = await engines.SQLite!(t)
  const edge = await api.call.create('/edges/https', {})
  const other = await api.call.create('/edges/https', {})
  const route = await api.call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    compression: {},
  })

  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['GET', '/compression'],
    ['PUT', '/compression'],
    ['DELETE', '/compression'],
  ] as const) {
    const url = `/edges/https/${other.id}/routes/${route.id}${path}`
    await assertRejected(
      api,
      () => api.call(method, url, method === 'GET' || method === 'DELETE' ? {} : { body: {} }),
      {
        status: 404,
        what: `${method} ${url}`,
      },
    )
  }
  const policy = await api.call.create('/ip_policies', {})
  for (const id of [`edghts_${'0'.repeat(27)}`, policy.id, 'edghts_x', 'x']) {
    const answer = await assertRejected(
      api,
      () =>
        api.call('POST', `/edges/https/${id}/routes`, { body: { match_type: 'path_prefix', match: '/x' } }),
      { status: 404, what: `a route of ${id}` },
    )
    const { body } = await api.call('GET', `/edges/https/${id}`)
    assert.deepEqual([answer.body.error_code, answer.body.msg], [body.error_code, body.msg])
    assert.equal(answer.body.details.field, undefined)
  }
})

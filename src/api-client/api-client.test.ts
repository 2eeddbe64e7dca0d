import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Document, generateOperations, generateTypes } from '../../scripts/api-client/generate.ts'
import { shareApi, type TestApi } from '../../test/support/api.ts'
import { startHttp } from '../../test/support/local-server.ts'
import {
  type Body,
  createSample,
  moduleSamples,
  type StoredKind,
  samples,
} from '../../test/support/samples.ts'
import { documentedOpenApi } from '../api/reference/openapi.ts'
import { ApiError, createClient } from './index.ts'
import { OPERATIONS } from './operations.ts'

const { fresh } = await shareApi()

const clientOf = ({ url, account }: TestApi) => createClient({ apiUrl: url, apiKey: account.apiKey.reveal() })

const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The common part of the groups that the client has for stored resources. */
interface Service {
  create(...args: unknown[]): Promise<Body & { id: string }>
  get(...args: unknown[]): Promise<Body>
  update(...args: unknown[]): Promise<Body>
  delete(...args: unknown[]): Promise<void>
  listAll(...args: unknown[]): AsyncIterable<Body>
}

test('the generated files match the declarations; run `npm run openapi` after a change', () => {
  const document = JSON.parse(JSON.stringify(documentedOpenApi())) as Document
  const read = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8')

  assert.equal(read('operations.ts'), generateOperations(document))
  assert.equal(read('types.ts'), generateTypes(document))
})

for (const kind of Object.keys(samples) as StoredKind[])
  test(`the client creates, reads, changes, lists and deletes ${kind}`, async () => {
    const api = await fresh()
    const sample = samples[kind]
    const parents = Object.values((await sample.parents?.(api.call)) ?? {})
    const groups: object = clientOf(api)
    const service = (groups as Record<string, Service>)[camelCase(kind)]!

    const created = await service.create(...parents, await sample.create(api.call))

    assert.equal((await service.get(...parents, created.id)).id, created.id)
    if (sample.update !== undefined)
      await service.update(...parents, created.id, await sample.update(api.call))
    if (service.listAll !== undefined)
      assert.ok((await Array.fromAsync(service.listAll())).some(({ id }) => id === created.id))
    if (service.delete !== undefined) {
      assert.equal(await service.delete(...parents, created.id), undefined)
      await assert.rejects(service.get(...parents, created.id), { name: 'ApiError', status: 404 })
    }
  })

test('the client replaces, reads and removes modules of an edge and a route', async () => {
  const api = await fresh()
  const client = clientOf(api)
  const edge = await createSample(api.call, 'edges_https')
  const route = await client.edgesHttpsRoutes.create(edge.id, { match_type: 'path_prefix', match: '/m' })
  const headers = (await moduleSamples.request_headers!(api.call)) as { add: Record<string, string> }

  const replaced = await client.edgesHttpsRoutes.requestHeaders.replace(edge.id, route.id, headers)

  assert.deepEqual(await client.edgesHttpsRoutes.requestHeaders.get(edge.id, route.id), replaced)
  await client.edgesHttpsRoutes.requestHeaders.delete(edge.id, route.id)
  assert.equal((await client.edgesHttpsRoutes.get(edge.id, route.id)).request_headers, null)
})

test('a list has pages, and listAll reads all of them with the same filter', async () => {
  const api = await fresh()
  const { ipPolicies } = clientOf(api)
  const created: string[] = []
  for (const description of ['a', 'b', 'a', 'a', 'b', 'a', 'a'])
    created.unshift((await ipPolicies.create({ description })).id)

  const page = await ipPolicies.list({ limit: 2 })
  const items = await Array.fromAsync(ipPolicies.listAll({ limit: 2 }))
  const filtered = await Array.fromAsync(ipPolicies.listAll({ limit: 2, filter: 'obj.description == "a"' }))

  assert.deepEqual(
    page.ip_policies.map(({ id }) => id),
    created.slice(0, 2),
  )
  assert.ok(page.next_page_uri?.startsWith(api.url))
  assert.deepEqual(
    items.map(({ id }) => id),
    created,
  )
  assert.equal(filtered.length, 5)
})

test('a parameter with several values is repeated', async (t) => {
  const port = await startHttp(t, (request, response) =>
    response.end(JSON.stringify({ endpoints: [{ id: request.url }], uri: '', next_page_uri: null })),
  )
  const client = createClient({ apiUrl: `http://127.0.0.1:${port}`, apiKey: 'key' })

  const [item] = await Array.fromAsync(client.endpoints.listAll({ id: ['ep_1', 'ep_2'], limit: 3 }))

  assert.equal(item?.id, '/endpoints?id=ep_1&id=ep_2&limit=3')
})

test('the next page is read at the address of the client, whatever the response names', async (t) => {
  const requests: (string | undefined)[] = []
  const port = await startHttp(t, (request, response) => {
    requests.push(request.url)
    const next = requests.length === 1 ? 'http://elsewhere.invalid/other?before_id=x' : null
    response.end(JSON.stringify({ tunnels: [], uri: '', next_page_uri: next }))
  })
  const client = createClient({ apiUrl: `http://127.0.0.1:${port}/`, apiKey: 'key' })

  await Array.fromAsync(client.tunnels.listAll())

  assert.deepEqual(requests, ['/tunnels', '/tunnels?before_id=x'])
})

test('a rejected call says why: code, status, message and the invalid field', async () => {
  const client = clientOf(await fresh())

  // @ts-expect-error The action is one of two words.
  const call = client.ipPolicyRules.create({ ip_policy_id: 'ipp_x', cidr: '10.0.0.0/8', action: 'maybe' })

  await assert.rejects(call, (error) => {
    assert.ok(error instanceof ApiError)
    assert.match(error.code ?? '', /^ERR_ADIT_\d+$/)
    assert.equal(error.status, 400)
    assert.match(error.message, /action/)
    assert.equal(error.details.field, 'action')
    return true
  })
})

test('a response that is not from the API, and an address where nothing listens, are named', async (t) => {
  const port = await startHttp(t, (_request, response) => response.end('<html>'))
  const page = createClient({ apiUrl: `http://127.0.0.1:${port}`, apiKey: 'key' })
  const absent = createClient({ apiUrl: 'http://127.0.0.1:1', apiKey: 'key' })

  await assert.rejects(page.root.self(), {
    name: 'ApiError',
    status: 200,
    code: undefined,
    message: /not from the/,
  })
  await assert.rejects(absent.root.self(), {
    message: /^The API at http:\/\/127\.0\.0\.1:1 cannot be reached: .+\.$/,
  })
})

test('a signal aborts a call and the reading of pages, and a call has a timeout', async (t) => {
  const port = await startHttp(t, () => undefined)
  const client = createClient({ apiUrl: `http://127.0.0.1:${port}`, apiKey: 'key' })
  const controller = new AbortController()
  const { signal } = controller

  const calls = [
    client.users.get('usr_x', { signal }),
    client.users.update('usr_x', {}, { signal }),
    Array.fromAsync(client.users.listAll({}, { signal })),
  ]
  controller.abort()

  for (const call of calls) await assert.rejects(call, { name: 'AbortError' })
  await assert.rejects(client.users.get('usr_x', { timeoutMs: 1 }), /did not answer in time/)
})

test('an id that would make another call of it is rejected before the call', () => {
  const client = createClient({ apiUrl: 'http://127.0.0.1:1', apiKey: 'key' })

  for (const id of ['', '.', '..'])
    assert.throws(() => client.reservedDomains.delete(id), {
      name: 'TypeError',
      message: 'reservedDomains.delete needs id, a text that is not empty.',
    })
})

test('an address or a key that is missing or invalid is named when the client is created', (t) => {
  t.mock.property(process, 'env', { ADIT_API_URL: 'http://127.0.0.1:1' })

  assert.throws(
    () => createClient({ apiUrl: 'ftp://x', apiKey: 'key' }),
    /"ftp:\/\/x" is not the address of an API/,
  )
  assert.throws(() => createClient(), /No API key was found/)
  assert.doesNotThrow(() => createClient({ apiKey: 'key' }))
})

test('a request of one’s own is sent as it is', async () => {
  const client = clientOf(await fresh())

  const created = await client.request({ method: 'POST', path: '/ip_policies', body: { description: 'own' } })

  assert.equal((created as Body).description, 'own')
  assert.equal(Object.keys(OPERATIONS).length, Object.keys(documentedOperations()).length)
})

function documentedOperations(): Record<string, unknown> {
  const { paths } = documentedOpenApi() as { paths: Record<string, Record<string, { operationId: string }>> }
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  return Object.fromEntries(operations.map((operation) => [operation.operationId, operation]))
}

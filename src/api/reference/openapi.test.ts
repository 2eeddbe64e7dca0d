import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startApi } from '../../../test/support/api.ts'
import { newId } from '../../base/values/id.ts'
import { BACKEND_PREFIXES } from '../../resources/index.ts'
import { routes } from '../all-routes.ts'
import { documentedOpenApi } from './openapi.ts'

type Json = Record<string, unknown>

function* schemasIn(value: unknown): Generator<Json> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value as Json
  for (const inner of Object.values(value)) yield* schemasIn(inner)
}

test('the committed document matches the declarations; run `npm run openapi` after a change', () => {
  const file = join(import.meta.dirname, '../../../docs/openapi.json')

  const committed = JSON.parse(readFileSync(file, 'utf8'))

  assert.deepEqual(committed, JSON.parse(JSON.stringify(documentedOpenApi())))
})

test('every route is in the document under its own id, and every reference resolves', () => {
  const document = JSON.parse(JSON.stringify(documentedOpenApi())) as {
    paths: Record<string, Record<string, { operationId: string; responses: Json; parameters: Json[] }>>
    components: Record<string, Json>
  }

  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, responses, parameters }]) => {
      const inPath = [...path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1])
      assert.deepEqual(
        parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name),
        inPath,
        path,
      )
      assert.ok(responses.default, operationId)
      return `${operationId} ${method.toUpperCase()} ${path}`
    }),
  )
  assert.deepEqual(
    described.toSorted(),
    routes.map(({ id, method, path }) => `${id} ${method} ${path}`).toSorted(),
  )
  for (const { $ref } of schemasIn(document))
    if (typeof $ref === 'string') {
      const [, , group, name] = $ref.split('/')
      assert.ok(document.components[group!]?.[name!], $ref)
    }
})

test('patterns hold for the examples beside them and for requests alone, and say which ids there are', () => {
  const { paths, components } = JSON.parse(JSON.stringify(documentedOpenApi())) as {
    paths: Record<string, Record<string, { parameters: { name: string; schema: Json }[] }>>
    components: { schemas: Record<string, Json> }
  }
  let examples = 0
  for (const { pattern, example } of schemasIn({ paths, components }))
    if (typeof pattern === 'string' && typeof example === 'string') {
      assert.match(example, new RegExp(pattern, 'u'))
      examples++
    }
  assert.ok(examples > 5, `${examples} patterns have an example`)
  const { Problem: _, ...schemas } = components.schemas
  for (const [name, schema] of Object.entries(schemas))
    for (const inner of schemasIn(schema)) {
      assert.ok(!('x-documented' in inner), name)
      if (!name.endsWith('Request')) assert.equal(inner.pattern, undefined, name)
    }

  const beforeId = paths['/ip_policies']!.get!.parameters.find(({ name }) => name === 'before_id')!
  const backendOf = (name: string) => (schemas[name]!.properties as Record<string, Json>).backend_id!
  assert.match(newId('ipp'), new RegExp(String(beforeId.schema.pattern)))
  assert.doesNotMatch(newId('ak'), new RegExp(String(beforeId.schema.pattern)))
  for (const prefix of BACKEND_PREFIXES)
    assert.match(newId(prefix), new RegExp(String(backendOf('BackendModuleRequest').pattern)))
  assert.equal(backendOf('AccountBackendModuleRequest').pattern, undefined, 'account documents have names')
})

test('the server accepts the examples of certificates and policies', async (t) => {
  const { call } = await startApi(t)
  const { paths, components } = JSON.parse(JSON.stringify(documentedOpenApi()))
  /** The schema of a field in the body of a POST. */
  const schemaOf = (path: string, ...fields: string[]) => {
    const resolve = ({ $ref, anyOf: [first] = [], ...schema }: Json & { anyOf?: Json[] }): Json =>
      first !== undefined
        ? resolve(first)
        : typeof $ref === 'string'
          ? components.schemas[$ref.split('/').at(-1)!]
          : schema
    const body = resolve(paths[path].post.requestBody.content['application/json'].schema)
    return fields.reduce(
      (schema, field) => resolve((schema.properties as Record<string, Json>)[field]!),
      body,
    )
  }
  const policyOf = (path: string) => ({ value: schemaOf(path, 'traffic_policy', 'value').example })
  const certificate = Object.fromEntries(
    ['certificate_pem', 'private_key_pem'].map((field) => [
      field,
      schemaOf('/tls_certificates', field).example,
    ]),
  )
  const edge = await call.create('/edges/https', {})

  await call.create('/certificate_authorities', {
    ca_pem: schemaOf('/certificate_authorities', 'ca_pem').example,
  })
  await call.create('/tls_certificates', certificate)
  for (const path of ['/edges/tcp', '/edges/tls']) await call.create(path, { traffic_policy: policyOf(path) })
  await call.create(`/edges/https/${edge.id}/routes`, {
    ...{ match_type: 'path_prefix', match: '/' },
    traffic_policy: policyOf('/edges/https/{edge_id}/routes'),
  })
})

test('the document and the reference page are served without a key', async (t) => {
  const api = await startApi(t)

  const document = await api.call('GET', '/openapi.json', { key: undefined })
  const page = await api.call('GET', '/reference', { key: undefined })

  assert.equal(document.status, 200)
  assert.equal(document.body.servers[0].url, api.url)
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  const tags = [...page.body.matchAll(/<h2><a href="(\/reference\/[\w-]+)">/g)].map(
    ([, path]) => path as string,
  )
  const parts = await Promise.all(tags.map((path) => api.call('GET', path, { key: undefined })))
  assert.deepEqual(new Set(parts.map(({ status }) => status)), new Set([200]))
  const details = parts.map(({ body }) => body).join('')
  assert.equal((await api.call('GET', '/reference/none', { key: undefined })).status, 404)
  for (const { path, id } of routes) {
    assert.ok(details.includes(`<section class="operation" id="${id}">`), id)
    assert.ok(page.body.includes(`id="${id}"`), id)
    assert.ok(page.body.includes(`<code>${path}</code>`), path)
  }
  for (const asset of ['/reference.css', '/reference.js'])
    assert.equal((await api.call('GET', asset, { key: undefined })).status, 200)
})

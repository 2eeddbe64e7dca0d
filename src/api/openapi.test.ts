import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startApi } from '../../test/support/api.ts'
import { routes } from './all-routes.ts'
import { documentedOpenApi } from './openapi.ts'

type Json = Record<string, unknown>

function* schemasIn(value: unknown): Generator<Json> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value as Json
  for (const inner of Object.values(value)) yield* schemasIn(inner)
}

test('the committed document matches the declarations; run `npm run openapi` after a change', () => {
  const file = join(import.meta.dirname, '..', '..', 'docs', 'openapi.json')

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

test('the document and the reference page are served without a key', async (t) => {
  const api = await startApi(t)

  const document = await api.call('GET', '/openapi.json', { key: undefined })
  const page = await api.call('GET', '/reference', { key: undefined })

  assert.equal(document.status, 200)
  assert.equal(document.body.servers[0].url, api.url)
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  for (const { path, id } of routes) {
    assert.ok(page.body.includes(`id="${id}"`), id)
    assert.ok(page.body.includes(`<code>${path}</code>`), path)
  }
  for (const asset of ['/reference.css', '/reference.js'])
    assert.equal((await api.call('GET', asset, { key: undefined })).status, 200)
})

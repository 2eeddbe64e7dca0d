import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { documentedOpenApi } from '../../src/api/reference/openapi.ts'
import { resources } from '../../src/resources/index.ts'
import { diffValues, dropEmptyValues, kindOf, valuesOf } from '../../src/web/dashboard/form/model.ts'
import {
  bodySchema,
  canChange,
  type OpenApi,
  resolveSchema,
  type Schema,
} from '../../src/web/dashboard/openapi.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { type Body, collectionPath, type StoredKind, samples } from '../support/samples.ts'

const document = documentedOpenApi() as unknown as OpenApi

const cleanups: (() => unknown)[] = []
let api: TestApi
before(async () => {
  api = await startApi({ after: (cleanup) => cleanups.push(cleanup as () => unknown) })
})
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

/** Every field of a body schema, with its path and name. */
function* fieldsOf(schema: Schema, path: string): Generator<[path: string, name: string, field: Schema]> {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const field = resolveSchema(property, document)
    yield [`${path}.${name}`, name, field]
    yield* fieldsOf(field, `${path}.${name}`)
    if (field.items) yield* fieldsOf(resolveSchema(field.items, document), `${path}.${name}[]`)
  }
}

test('every request field has a control that can express all its values', () => {
  const mismatches: string[] = []
  let fieldCount = 0
  for (const [path, methods] of Object.entries(document.paths))
    for (const method of Object.keys(methods)) {
      const body = bodySchema(document, method, path)
      if (!body) continue
      for (const [fieldPath, name, field] of fieldsOf(body, `${method} ${path}`)) {
        fieldCount++
        const kind = kindOf(name, field, document)
        const types = [field.type ?? []].flat()
        const text = ['text', 'long', 'secret', 'reference'].includes(kind)
        if (text !== (types.includes('string') && field.enum === undefined))
          mismatches.push(`${fieldPath} is ${kind}`)
        if (kind === 'map' && typeof field.additionalProperties !== 'object')
          mismatches.push(`${fieldPath} is ${kind}`)
      }
    }

  assert.deepEqual(mismatches, [])
  assert.ok(fieldCount > 500, `only ${fieldCount} fields were checked`)
})

for (const kind of Object.keys(samples) as StoredKind[]) {
  if (!resources[kind].operations.includes('update')) continue
  test(`a form submits an unchanged resource unchanged: ${kind}`, async () => {
    const parents = (await samples[kind].parents?.(api.call)) ?? {}
    const path = collectionPath(kind, parents)
    const created = await api.call.create(path, await samples[kind].create(api.call))
    const itemPath = `${path}/${String(created.id)}`
    const item = (await api.call('GET', itemPath)).body as Body
    const schema = bodySchema(document, 'patch', `${resources[kind].path}/{id}`)!

    const values = valuesOf(schema, item, document)

    assert.deepEqual(diffValues(values, values), { changed: {}, cleared: [] })
    const { status, body } = await api.call('PATCH', itemPath, {
      body: withSecrets(kind, dropEmptyValues(values)),
    })
    assert.equal(status, 200, JSON.stringify(body))
    // Some resources show when they were last updated.
    assert.deepEqual(
      { ...(body as Body), updated_at: item.updated_at },
      { ...item, updated_at: item.updated_at },
    )
  })
}

/** Responses omit these secrets, so users have to enter them again. */
function withSecrets(kind: StoredKind, values: Body): Body {
  if (kind !== 'event_destinations') return values
  const complete = structuredClone(values) as { target: { kinesis: { auth: { creds: Body } } } }
  complete.target.kinesis.auth.creds.cloud_secret_access_key = 'secret'
  return complete
}

test('a form sends only non-empty values, or only changed ones', () => {
  assert.deepEqual(
    dropEmptyValues({
      text: 'a',
      empty: '',
      none: undefined,
      off: false,
      zero: 0,
      list: ['x', ''],
      inner: { text: '', kept: 1 },
    }),
    { text: 'a', off: false, zero: 0, list: ['x'], inner: { kept: 1 } },
  )
  assert.deepEqual(
    diffValues(
      { same: 1, text: 'before', list: ['a'], gone: 'ec_1' },
      { same: 1, text: '', list: [], gone: undefined, added: 2 },
    ),
    { changed: { text: '', list: [], added: 2 }, cleared: ['gone'] },
  )
})

test('the OpenAPI document defines what a role may change', () => {
  const allows = (path: string, role: 'read_only' | 'developer' | 'admin', ownedByOther = false) =>
    canChange(document, path, role, ownedByOther)

  assert.deepEqual(
    (['read_only', 'developer', 'admin'] as const).map((role) => allows('/edges/https', role)),
    [false, true, true],
  )
  for (const path of ['/ip_restrictions', '/event_destinations', '/event_subscriptions', '/users'])
    assert.deepEqual([allows(path, 'developer'), allows(path, 'admin')], [false, true], path)
  for (const path of ['/api_keys', '/credentials', '/ssh_credentials'])
    assert.deepEqual(
      [allows(path, 'developer'), allows(path, 'developer', true), allows(path, 'admin', true)],
      [true, false, true],
      path,
    )
})

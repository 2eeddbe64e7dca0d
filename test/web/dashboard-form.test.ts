import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { documentedOpenApi } from '../../src/api/openapi.ts'
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
import { type Body, collection, type StoredKind, samples } from '../support/samples.ts'

const document = documentedOpenApi() as unknown as OpenApi

const cleanups: (() => unknown)[] = []
let api: TestApi
before(async () => {
  api = await startApi({ after: (cleanup) => cleanups.push(cleanup as () => unknown) })
})
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

/** Every field of every body, with what it is called and where it is. */
function* fieldsOf(schema: Schema, path: string): Generator<[path: string, name: string, field: Schema]> {
  for (const [name, given] of Object.entries(schema.properties ?? {})) {
    const field = resolveSchema(given, document)
    yield [`${path}.${name}`, name, field]
    yield* fieldsOf(field, `${path}.${name}`)
    if (field.items) yield* fieldsOf(resolveSchema(field.items, document), `${path}.${name}[]`)
  }
}

test('every field the API takes has a control that can give every value it may have', () => {
  const unfit: string[] = []
  let seen = 0
  for (const [path, methods] of Object.entries(document.paths))
    for (const method of Object.keys(methods)) {
      const body = bodySchema(document, method, path)
      if (!body) continue
      for (const [at, name, field] of fieldsOf(body, `${method} ${path}`)) {
        seen++
        const kind = kindOf(name, field, document)
        const types = [field.type ?? []].flat()
        const text = ['text', 'long', 'secret', 'reference'].includes(kind)
        if (text !== (types.includes('string') && field.enum === undefined)) unfit.push(`${at} is ${kind}`)
        if (kind === 'map' && typeof field.additionalProperties !== 'object') unfit.push(`${at} is ${kind}`)
      }
    }

  assert.deepEqual(unfit, [])
  assert.ok(seen > 500, `only ${seen} fields were looked at`)
})

for (const kind of Object.keys(samples) as StoredKind[]) {
  test(`a form filled with what the API shows writes it back unchanged: ${kind}`, async () => {
    const parents = (await samples[kind].parents?.(api.call)) ?? {}
    const path = collection(kind, parents)
    const made = await api.call.create(path, await samples[kind].create(api.call))
    const at = `${path}/${String(made.id)}`
    const item = (await api.call('GET', at)).body as Body
    const schema = bodySchema(document, 'patch', `${resources[kind].path}/{id}`)!

    const values = valuesOf(schema, item, document)

    assert.deepEqual(diffValues(values, values), { changed: {}, cleared: [] })
    const { status, body } = await api.call('PATCH', at, { body: withSecrets(kind, dropEmptyValues(values)) })
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(body, item)
  })
}

/** Answers leave out these secrets, so people have to give them again. */
function withSecrets(kind: StoredKind, values: Body): Body {
  if (kind !== 'event_destinations') return values
  const given = structuredClone(values) as { target: { kinesis: { auth: { creds: Body } } } }
  given.target.kinesis.auth.creds.cloud_secret_access_key = 'secret'
  return given
}

test('only what was filled in is sent, and only what was changed', () => {
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

test('pages know from the document what a role may change', () => {
  const may = (path: string, role: 'read_only' | 'developer' | 'admin', others = false) =>
    canChange(document, path, role, others)

  assert.deepEqual(
    (['read_only', 'developer', 'admin'] as const).map((role) => may('/edges/https', role)),
    [false, true, true],
  )
  for (const path of ['/ip_restrictions', '/event_destinations', '/event_subscriptions', '/users'])
    assert.deepEqual([may(path, 'developer'), may(path, 'admin')], [false, true], path)
  for (const path of ['/api_keys', '/credentials', '/ssh_credentials'])
    assert.deepEqual(
      [may(path, 'developer'), may(path, 'developer', true), may(path, 'admin', true)],
      [true, false, true],
      path,
    )
})

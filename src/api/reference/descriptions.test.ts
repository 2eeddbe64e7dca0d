import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  composeExample,
  type FieldSchema,
  type FieldSchemas,
  listFields,
} from '../../base/values/schema-fields.ts'
import { allResources } from '../../resources/index.ts'
import { documentedOpenApi } from './openapi.ts'

interface Content {
  readonly content?: { readonly 'application/json': { readonly schema: FieldSchema } }
}
interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}
const document = documentedOpenApi() as unknown as {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: FieldSchemas }
  tags: { name: string; description: string }[]
}
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
const { schemas } = document.components
const schemaOf = (content: Content | undefined) => content?.content?.['application/json'].schema

/** Material that cannot be made up. */
const NO_VALID_EXAMPLE = new Set(['certificate_authorities', 'tls_certificates'])

test('every field of the API has a description that is a sentence', () => {
  const missing = new Set<string>()
  for (const { operationId, requestBody, responses } of operations)
    for (const schema of [requestBody, ...Object.values(responses)].map(schemaOf))
      for (const { path, description } of schema ? listFields(schema, schemas) : [])
        if (!/^[A-Z].*\.$/.test(description)) missing.add(`${operationId}: ${path}: ${description}`)

  assert.deepEqual([...missing], [])
})

test('the example of every creation is valid', () => {
  const creations = allResources.filter(
    ({ kind, operations }) => operations.includes('create') && !NO_VALID_EXAMPLE.has(kind),
  )

  for (const resource of creations) {
    const operation = operations.find(({ operationId }) => operationId === `${resource.kind}.create`)
    const schema = schemaOf(operation?.requestBody)
    const example = schema ? composeExample(schema, schemas) : {}
    const parents = Object.fromEntries(resource.parents.map((parent) => [parent, `edghts_${'0'.repeat(27)}`]))
    assert.doesNotThrow(
      () => resource.verify(resource.parseCreate({ ...example, ...parents })),
      resource.kind,
    )
  }
  assert.ok(creations.length > 20)
})

test('every group of operations has a description that is a sentence', () => {
  for (const { name, description } of document.tags) assert.match(description, /^[A-Z].*\.$/, name)
  assert.ok(document.tags.length > 30)
})

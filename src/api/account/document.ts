import type { TSchema } from 'typebox'
import { prefixOf } from '../../base/values/id.ts'
import { allResources, type Resource, type ResourceKind } from '../../resources/index.ts'

/**
 * The document of a whole account: for each kind of resource, its resources by name. Fields are those of a creation;
 * references are names of other resources of the document or the account, or ids.
 */
export type AccountDocument = Readonly<Partial<Record<ResourceKind, Readonly<Record<string, EntryFields>>>>>

export type EntryFields = Readonly<Record<string, unknown>>

type JsonSchema = Readonly<Record<string, unknown>>

/**
 * Every resource that a document can hold, in the order in which they are created unless references require another.
 * Records that cannot be deleted are not part of a desired state.
 */
export const documentResources: readonly Resource[] = allResources.filter(
  ({ online, operations }) => !online && operations.includes('delete'),
)

/** The names of resources in documents. An id is no name, so that a reference is never ambiguous. */
const NAME = /^[A-Za-z0-9*][A-Za-z0-9._:@*+-]{0,127}$/

export function isValidName(name: string): boolean {
  return NAME.test(name) && prefixOf(name) === undefined
}

/** The text as a name: other characters become hyphens. */
function slug(text: string): string {
  return text
    .replace(/[^A-Za-z0-9._:@*+-]{1,255}/g, '-')
    .replace(/^[^A-Za-z0-9*]{1,255}/, '')
    .slice(0, 100)
    .replace(/-{1,100}$/, '')
}

/**
 * The name of a resource that no document manages: its natural name, or its description with the end of its id. It
 * depends on nothing but the resource itself, so that it stays the same when others come and go.
 */
export function derivedName(resource: Resource, id: string, record: EntryFields): string {
  const natural = slug(resource.naturalName(record))
  return natural === '' ? uniqueName(slug(String(record.description ?? '')) || resource.prefix, id) : natural
}

/** The same name, distinct from those of all other resources. */
export function uniqueName(name: string, id: string): string {
  return `${name}-${id.slice(-6)}`
}

/** The schema of a document as `POST /apply` accepts it. */
export function documentProperties(): Record<string, TSchema> {
  return Object.fromEntries(
    documentResources.map((resource) => [
      resource.kind,
      {
        type: 'object',
        description: resource.description,
        propertyNames: { pattern: NAME.source },
        additionalProperties: {
          ...withoutRequiredSecrets(resource.createSchema, resource.sealed),
          title: resource.name,
        },
      } as TSchema,
    ]),
  )
}

/** Secrets may be absent: a document that leaves one out keeps the stored one. */
function withoutRequiredSecrets(schema: TSchema, sealed: readonly string[]): TSchema {
  if (sealed.length === 0) return schema
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  const members = Object.entries(properties).map(([name, member]) => {
    const below = sealed
      .filter((path) => path.startsWith(`${name}.`))
      .map((path) => path.slice(name.length + 1))
    return [name, withoutRequiredSecrets(member, below)]
  })
  return {
    ...schema,
    properties: Object.fromEntries(members),
    required: required.filter((name) => !sealed.includes(name)),
  } as TSchema
}

/** What to do with the references inside a value. Each function returns the replacement. */
export interface ReferenceVisitor {
  id(text: string, prefixes: readonly string[], path: string): string
  /** A public address that may be written as the name of its reservation. */
  address(text: string, path: string): string
}

/** A copy of a value with its references replaced. */
export function replaceReferences(
  schema: unknown,
  value: unknown,
  visitor: ReferenceVisitor,
  path = '',
): unknown {
  const shape = schemaOf(schema)
  if (typeof value === 'string') {
    if (shape['x-refers-to'] !== undefined && value !== '')
      return visitor.id(value, shape['x-refers-to'] as string[], path)
    return shape['x-address-of'] === undefined ? value : visitor.address(value, path)
  }
  if (Array.isArray(value))
    return value.map((item, index) => replaceReferences(shape.items, item, visitor, `${path}[${index}]`))
  if (typeof value !== 'object' || value === null) return value
  const keys = (shape.propertyNames as JsonSchema | undefined)?.['x-refers-to'] as string[] | undefined
  const properties = (shape.properties ?? {}) as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const memberPath = path === '' ? key : `${path}.${key}`
      const name = keys === undefined ? key : visitor.id(key, keys, memberPath)
      return [
        name,
        replaceReferences(properties[key] ?? shape.additionalProperties, member, visitor, memberPath),
      ]
    }),
  )
}

/** The fields of a value that requests write: without those that the service sets. */
export function writtenPart(schema: unknown, value: unknown): unknown {
  const shape = schemaOf(schema)
  if (Array.isArray(value)) return value.map((item) => writtenPart(shape.items, item))
  const properties = membersOf(shape)
  if (typeof value !== 'object' || value === null || properties === undefined) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, member]) => key in properties && member !== null)
      .map(([key, member]) => [key, writtenPart(properties[key], member)]),
  )
}

/** A written value together with the fields that the service has set in the stored one. */
export function withServiceFields(schema: unknown, written: unknown, stored: unknown): unknown {
  const shape = schemaOf(schema)
  if (Array.isArray(written) && Array.isArray(stored))
    return written.map((item, index) => withServiceFields(shape.items, item, stored[index]))
  const properties = membersOf(shape)
  if (!isObject(written) || !isObject(stored) || properties === undefined) return written
  return Object.fromEntries(
    Object.entries(written).map(([key, member]) => [
      key,
      key in properties ? withServiceFields(properties[key], member, stored[key]) : (stored[key] ?? member),
    ]),
  )
}

/** The declared members of an object; undefined for a map, whose names users choose. */
function membersOf({ properties, additionalProperties }: JsonSchema): Record<string, unknown> | undefined {
  return typeof additionalProperties === 'object'
    ? undefined
    : (properties as Record<string, unknown> | undefined)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The schema itself, or of alternatives the first that is not null. */
function schemaOf(schema: unknown): JsonSchema {
  const { anyOf } = (schema ?? {}) as { anyOf?: JsonSchema[] }
  return anyOf?.[0] ?? ((schema ?? {}) as JsonSchema)
}

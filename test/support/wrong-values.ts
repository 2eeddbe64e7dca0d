type Json = Record<string, unknown>

/** The parts of JSON Schema needed here. */
interface Schema {
  type?: string | string[]
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: boolean | Schema
}

const EXAMPLES: Record<string, unknown> = {
  string: 'text',
  integer: 7,
  boolean: true,
  object: { some: 'thing' },
  array: [['nested']],
}

/** A body that violates its schema in one field. */
export interface InvalidBody {
  readonly field: string
  readonly body: Json
  readonly why: string
}

/** Returns a copy with the value at a path such as `acl[0]` or `oidc.issuer`. */
export function withValue(body: Json, field: string, value: unknown): Json {
  const steps = field.split(/\.|\[(\d+)\]\.?/).filter((step) => step !== undefined && step !== '')
  const copy = structuredClone(body)
  let holder = copy as Record<string, unknown>
  for (const [index, step] of steps.entries()) {
    if (index === steps.length - 1) holder[step] = value
    else {
      holder[step] ??= /^\d+$/.test(steps[index + 1]!) ? [] : {}
      holder = holder[step] as Record<string, unknown>
    }
  }
  return copy
}

function typesOf(schema: Schema): string[] {
  if (schema.enum !== undefined) return []
  const types = [schema.type ?? [], (schema.anyOf ?? []).flatMap(typesOf)].flat()
  return types.includes('number') ? [...types, 'integer'] : types
}

/**
 * Generates invalid bodies: every field in `body` and every other top-level field with each wrong type, with an unknown
 * enum value, and an unknown field in each object.
 */
export function* invalidBodies(schema: unknown, body: Json, thorough: boolean): Generator<InvalidBody> {
  yield* invalidIn(schema as Schema, body, '', body, thorough)
}

function* invalidIn(
  schema: Schema,
  value: unknown,
  path: string,
  body: Json,
  thorough: boolean,
): Generator<InvalidBody> {
  const shapes = [schema, ...(schema.anyOf ?? [])]
  const fields = shapes.find((shape) => shape.properties !== undefined)?.properties
  const map = shapes.find((shape) => typeof shape.additionalProperties === 'object')?.additionalProperties
  const items = shapes.find((shape) => shape.items !== undefined)?.items
  const fieldPath = (name: string) => (path === '' ? name : `${path}.${name}`)
  const object = (typeof value === 'object' && value !== null ? value : {}) as Json

  if (path !== '') {
    const allowed = typesOf(schema)
    const invalid = Object.entries(EXAMPLES).filter(([type]) => !allowed.includes(type))
    for (const [type, example] of thorough ? invalid : invalid.slice(0, 1))
      yield { field: path, body: withValue(body, path, example), why: `is of type ${type}` }
    if (schema.enum !== undefined)
      yield { field: path, body: withValue(body, path, 'no-such-word'), why: 'is an unknown word' }
  }
  if (map === undefined && fields !== undefined && (path === '' || value != null))
    yield { field: fieldPath('no_such'), body: withValue(body, fieldPath('no_such'), 1), why: 'is unknown' }
  for (const [name, inner] of Object.entries(fields ?? {}))
    if (path === '' || name in object) yield* invalidIn(inner, object[name], fieldPath(name), body, thorough)
  if (typeof map === 'object')
    for (const name of Object.keys(object).slice(0, 1))
      yield* invalidIn(map, object[name], fieldPath(name), body, thorough)
  if (items !== undefined && Array.isArray(value) && value.length > 0)
    yield* invalidIn(items, value[0], `${path}[0]`, body, thorough)
}

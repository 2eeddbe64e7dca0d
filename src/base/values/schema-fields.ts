/** The subset of JSON Schema that the reference of the API shows. */
export interface FieldSchema {
  readonly $ref?: string
  readonly title?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly example?: unknown
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly FieldSchema[]
  readonly items?: FieldSchema
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly additionalProperties?: boolean | FieldSchema
  readonly required?: readonly string[]
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly 'x-refers-to'?: readonly string[]
}

/** The schemas that references point to, by name. */
export type FieldSchemas = Readonly<Record<string, FieldSchema>>

/** One field as documentation shows it; the path of a nested one has dots, and `[]` after a list. */
export interface FieldRow {
  readonly path: string
  readonly type: string
  readonly required: boolean
  readonly description: string
  readonly limits: readonly string[]
}

const MAX_DEPTH = 4

function resolve(schema: FieldSchema, schemas: FieldSchemas): FieldSchema {
  if (schema.$ref === undefined) return schema
  return schemas[schema.$ref.split('/').at(-1)!] ?? {}
}

/** The schema without null as an alternative. */
function withoutNull(schema: FieldSchema, schemas: FieldSchemas): FieldSchema {
  const resolved = resolve(schema, schemas)
  const member = resolved.anyOf?.find(({ type }) => type !== 'null')
  return member === undefined ? resolved : withoutNull(member, schemas)
}

const typesOf = ({ type }: FieldSchema) => [type ?? []].flat() as string[]

function allowsNull({ type, enum: values, anyOf }: FieldSchema): boolean {
  return (
    typesOf({ type: type ?? [] }).includes('null') ||
    values?.includes(null) === true ||
    anyOf?.some((member) => member.type === 'null') === true
  )
}

/** The type in words, such as `list of text` or `text or null`. */
function formatType(schema: FieldSchema, schemas: FieldSchemas): string {
  const name = formatPresentType(withoutNull(schema, schemas), schemas)
  return allowsNull(schema) ? `${name} or null` : name
}

function formatPresentType(schema: FieldSchema, schemas: FieldSchemas): string {
  const values = schema.enum?.filter((value) => value !== null)
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(', ')
  const type = typesOf(schema).find((each) => each !== 'null') ?? 'any'
  if (type === 'array')
    return `list of ${formatPresentType(withoutNull(schema.items ?? {}, schemas), schemas)}`
  if (type !== 'object') return type
  return schema.properties === undefined || Object.keys(schema.properties).length === 0 ? 'map' : 'object'
}

function limitsOf(schema: FieldSchema): string[] {
  const ids = schema['x-refers-to'] ?? schema.items?.['x-refers-to'] ?? []
  const limits: string[] = []
  if (ids.length > 0) limits.push(`id: ${ids.map((prefix) => `${prefix}_…`).join(' or ')}`)
  if (schema.minimum !== undefined && schema.maximum !== undefined)
    limits.push(`${schema.minimum} to ${schema.maximum}`)
  if (schema.maxLength !== undefined) limits.push(`at most ${schema.maxLength} bytes`)
  if (schema.minItems !== undefined) limits.push(`at least ${schema.minItems}`)
  if (schema.maxItems !== undefined) limits.push(`at most ${schema.maxItems}`)
  if (schema.default !== undefined) limits.push(`default ${JSON.stringify(schema.default)}`)
  return limits
}

/** The fields of an object, each followed by its nested ones. A reference to another object has no nested fields. */
export function listFields(
  reference: FieldSchema,
  schemas: FieldSchemas,
  prefix = '',
  depth = 0,
): FieldRow[] {
  const schema = withoutNull(reference, schemas)
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`
    const present = withoutNull(field, schemas)
    const isList = typesOf(present).includes('array')
    const inner = isList ? withoutNull(present.items ?? {}, schemas) : present
    const row: FieldRow = {
      path,
      type: formatType(field, schemas),
      required: schema.required?.includes(name) ?? false,
      description: field.description ?? present.description ?? '',
      limits: limitsOf({ ...present, ...field }),
    }
    if (inner.properties === undefined || depth >= MAX_DEPTH) return [row]
    return [row, ...listFields(inner, schemas, `${path}${isList ? '[]' : ''}.`, depth + 1)]
  })
}

/** An example of a request: required fields and those that have an example. */
export function composeExample(reference: FieldSchema, schemas: FieldSchemas): Record<string, unknown> {
  const schema = withoutNull(reference, schemas)
  const entries = Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, unknown][] => {
    if (field.example !== undefined) return [[name, field.example]]
    return schema.required?.includes(name) ? [[name, exampleValue(field, schemas)]] : []
  })
  return Object.fromEntries(entries)
}

function exampleValue(field: FieldSchema, schemas: FieldSchemas): unknown {
  const schema = withoutNull(field, schemas)
  if (schema.default !== undefined) return schema.default
  if (schema.enum !== undefined) return schema.enum[0]
  const ids = schema['x-refers-to']
  if (ids !== undefined) return exampleId(ids[0]!)
  const type = typesOf(schema).find((each) => each !== 'null')
  if (type === 'array') return schema.minItems ? [exampleValue(schema.items ?? {}, schemas)] : []
  if (type === 'object') return composeExample(schema, schemas)
  if (type === 'boolean') return true
  return type === 'integer' || type === 'number' ? (schema.minimum ?? 0) : ''
}

/** An id of the right form that belongs to no object. */
function exampleId(prefix: string): string {
  return `${prefix}_${'0'.repeat(27)}`
}

import { type OpenApi, resolveSchema, type Schema } from '../openapi.ts'

/** The values of a form: the body it would send, with `undefined` for empty fields. */
export type Values = Record<string, unknown>

/** The control that a field uses. */
export type FieldKind =
  | 'text'
  | 'long'
  | 'secret'
  | 'number'
  | 'switch'
  | 'choice'
  | 'reference'
  | 'references'
  | 'list'
  | 'map'
  | 'weights'
  | 'object'
  | 'one-of'
  | 'objects'

const SECRET_NAME = /(^|_)(secret|password|token|api_key)(_|$)|secret_access_key/
const MIN_LONG_TEXT_LENGTH = 2048

const hasType = ({ type }: Schema, name: string) => [type ?? []].flat().includes(name)

/** Chooses the control by schema, and for secrets by name. */
export function kindOf(name: string, fieldSchema: Schema, document: OpenApi): FieldKind {
  const schema = resolveSchema(fieldSchema, document)
  if (schema['x-refers-to'] !== undefined) return 'reference'
  if (schema.enum !== undefined) return 'choice'
  if (hasType(schema, 'boolean')) return 'switch'
  if (hasType(schema, 'integer') || hasType(schema, 'number')) return 'number'
  if (hasType(schema, 'array')) {
    const items = resolveSchema(schema.items ?? {}, document)
    if (items['x-refers-to'] !== undefined) return 'references'
    return items.properties === undefined ? 'list' : 'objects'
  }
  if (hasType(schema, 'object')) return objectKind(schema, document)
  if (SECRET_NAME.test(name)) return 'secret'
  return isLong(name, schema) ? 'long' : 'text'
}

function isLong(name: string, { maxLength = 0 }: Schema): boolean {
  if (/url|uri|arn|object_prefix|issuer|authorization_signing/.test(name)) return false
  return maxLength >= MIN_LONG_TEXT_LENGTH
}

/** An object whose fields are all optional objects is a choice of one of them. */
function objectKind(schema: Schema, document: OpenApi): FieldKind {
  const fields = Object.values(schema.properties ?? {})
  if (fields.length === 0) return schema.propertyNames?.['x-refers-to'] ? 'weights' : 'map'
  const isChoice =
    fields.every((field) => hasType(resolveSchema(field, document), 'object')) && !schema.required?.length
  return isChoice && fields.length > 1 ? 'one-of' : 'object'
}

/** Converts a resource to request values: a Ref becomes its id. */
export function valuesOf(
  schema: Schema,
  record: Readonly<Record<string, unknown>>,
  document: OpenApi,
): Values {
  const values: Values = {}
  for (const [name, fieldSchema] of Object.entries(schema.properties ?? {})) {
    const value = toRequestValue(name, resolveSchema(fieldSchema, document), record, document)
    if (value !== undefined) values[name] = value
  }
  return values
}

function toRequestValue(
  name: string,
  schema: Schema,
  record: Readonly<Record<string, unknown>>,
  document: OpenApi,
): unknown {
  const value = record[name] ?? readReference(name, record)
  if (value === null || value === undefined) return undefined
  if (schema.properties !== undefined && Object.keys(schema.properties).length > 0)
    return valuesOf(schema, value as Record<string, unknown>, document)
  const items = schema.items && resolveSchema(schema.items, document)
  if (items?.properties !== undefined)
    return (value as Record<string, unknown>[]).map((each) => valuesOf(items, each, document))
  return value
}

/** Requests write `ip_policy_ids`; responses have `ip_policies` as Refs. */
function readReference(name: string, record: Readonly<Record<string, unknown>>): unknown {
  if (name.endsWith('_id')) return (record[name.slice(0, -3)] as { id?: string } | null | undefined)?.id
  if (!name.endsWith('_ids')) return undefined
  const stem = name.slice(0, -4)
  const refs = (record[`${stem}s`] ?? record[stem.replace(/y$/, 'ies')]) as { id: string }[] | undefined
  return refs?.map(({ id }) => id)
}

/** The response name of a field that requests write as an id. */
export function responseName(name: string): string {
  return name.replace(/_id$/, '')
}

/** The values without empty entries, recursively. */
export function dropEmptyValues(values: Values): Values {
  const entries = Object.entries(values).flatMap(([name, value]): [string, unknown][] => {
    const cleaned = dropEmptyValue(value)
    return cleaned === undefined ? [] : [[name, cleaned]]
  })
  return Object.fromEntries(entries)
}

function dropEmptyValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropEmptyValue).filter((each) => each !== undefined)
  if (typeof value !== 'object' || value === null) return value === '' ? undefined : value
  return dropEmptyValues(value as Values)
}

/** The changed values, and the names of cleared fields. */
export function diffValues(previous: Values, next: Values): { changed: Values; cleared: string[] } {
  const changed: Values = {}
  const cleared: string[] = []
  for (const name of new Set([...Object.keys(previous), ...Object.keys(next)])) {
    const [oldValue, newValue] = [previous[name], next[name]]
    if (isSameValue(oldValue, newValue)) continue
    if (newValue === undefined) cleared.push(name)
    else
      changed[name] =
        typeof newValue === 'object' && newValue !== null && !Array.isArray(newValue)
          ? dropEmptyValues(newValue as Values)
          : newValue
  }
  return { changed, cleared }
}

function isSameValue(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? '') === JSON.stringify(other ?? '')
}

/** Whether an error at `field` belongs to the control at `path`, or to a nested one. */
export function belongsTo(field: string | undefined, path: string): boolean {
  if (field === undefined) return false
  return field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`)
}

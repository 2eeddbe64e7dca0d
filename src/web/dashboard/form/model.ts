import { type OpenApi, resolved, type Schema } from '../openapi.ts'

/** What a form holds: the body it would send, with `undefined` for what was not filled in. */
export type Values = Record<string, unknown>

/** How a field is filled in. */
export type Kind =
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

const SECRET = /(^|_)(secret|password|token|api_key)(_|$)|secret_access_key/
const LONG = 2048

const hasType = ({ type }: Schema, wanted: string) => [type ?? []].flat().includes(wanted)

/** Decides by the schema alone, and for secrets by the name. */
export function kindOf(name: string, given: Schema, document: OpenApi): Kind {
  const schema = resolved(given, document)
  if (schema['x-refers-to'] !== undefined) return 'reference'
  if (schema.enum !== undefined) return 'choice'
  if (hasType(schema, 'boolean')) return 'switch'
  if (hasType(schema, 'integer') || hasType(schema, 'number')) return 'number'
  if (hasType(schema, 'array')) {
    const items = resolved(schema.items ?? {}, document)
    if (items['x-refers-to'] !== undefined) return 'references'
    return items.properties === undefined ? 'list' : 'objects'
  }
  if (hasType(schema, 'object')) return objectKind(schema, document)
  if (SECRET.test(name)) return 'secret'
  return isLong(name, schema) ? 'long' : 'text'
}

function isLong(name: string, { maxLength = 0 }: Schema): boolean {
  if (/url|uri|arn|object_prefix|issuer|authorization_signing/.test(name)) return false
  return maxLength >= LONG
}

/** An object whose fields are all optional objects says one thing in one of several ways. */
function objectKind(schema: Schema, document: OpenApi): Kind {
  const fields = Object.values(schema.properties ?? {})
  if (fields.length === 0) return schema.propertyNames?.['x-refers-to'] ? 'weights' : 'map'
  const ways =
    fields.every((field) => hasType(resolved(field, document), 'object')) && !schema.required?.length
  return ways && fields.length > 1 ? 'one-of' : 'object'
}

/** The values of a resource as a request would write them: a Ref becomes its id. */
export function valuesOf(
  schema: Schema,
  shown: Readonly<Record<string, unknown>>,
  document: OpenApi,
): Values {
  const values: Values = {}
  for (const [name, given] of Object.entries(schema.properties ?? {})) {
    const value = writtenOf(name, resolved(given, document), shown, document)
    if (value !== undefined) values[name] = value
  }
  return values
}

function writtenOf(
  name: string,
  schema: Schema,
  shown: Readonly<Record<string, unknown>>,
  document: OpenApi,
): unknown {
  const value = shown[name] ?? readUnderOtherName(name, shown)
  if (value === null || value === undefined) return undefined
  if (schema.properties !== undefined && Object.keys(schema.properties).length > 0)
    return valuesOf(schema, value as Record<string, unknown>, document)
  const items = schema.items && resolved(schema.items, document)
  if (items?.properties !== undefined)
    return (value as Record<string, unknown>[]).map((each) => valuesOf(items, each, document))
  return value
}

/** Ids are written as `ip_policy_ids` and read as `ip_policies` with addresses. */
function readUnderOtherName(name: string, shown: Readonly<Record<string, unknown>>): unknown {
  if (name.endsWith('_id')) return (shown[name.slice(0, -3)] as { id?: string } | null | undefined)?.id
  if (!name.endsWith('_ids')) return undefined
  const stem = name.slice(0, -4)
  const refs = (shown[`${stem}s`] ?? shown[stem.replace(/y$/, 'ies')]) as { id: string }[] | undefined
  return refs?.map(({ id }) => id)
}

/** The name under which answers show what requests write as an id. */
export function shownName(name: string): string {
  return name.replace(/_id$/, '')
}

/** What was filled in, without the holes. */
export function filledIn(values: Values): Values {
  const kept = Object.entries(values).flatMap(([name, value]): [string, unknown][] => {
    const clean = withoutHoles(value)
    return clean === undefined ? [] : [[name, clean]]
  })
  return Object.fromEntries(kept)
}

function withoutHoles(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHoles).filter((each) => each !== undefined)
  if (typeof value !== 'object' || value === null) return value === '' ? undefined : value
  return filledIn(value as Values)
}

/** What differs from before, and which fields were taken away altogether. */
export function changesOf(before: Values, after: Values): { changed: Values; cleared: string[] } {
  const changed: Values = {}
  const cleared: string[] = []
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [former, value] = [before[name], after[name]]
    if (same(former, value)) continue
    if (value === undefined) cleared.push(name)
    else
      changed[name] =
        typeof value === 'object' && value !== null && !Array.isArray(value)
          ? filledIn(value as Values)
          : value
  }
  return { changed, cleared }
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? '') === JSON.stringify(other ?? '')
}

/** Whether an error at `field` belongs to the control at `path`, or to something inside it. */
export function belongsTo(field: string | undefined, path: string): boolean {
  if (field === undefined) return false
  return field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`)
}

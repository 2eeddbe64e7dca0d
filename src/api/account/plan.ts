import type { Resource } from '../../resources/index.ts'
import { recordOf, withStoredSecrets } from '../../store/index.ts'
import { fieldProblem } from '../problems.ts'
import { type EntryFields, replaceReferences, withServiceFields } from './document.ts'
import { type Entry, resolveName, type Target } from './references.ts'
import { type AccountState, completeRecord, isEqual, type NamedRow, writtenFields } from './state.ts'

/** A field that differs between the account and the document. A secret has no values. */
export interface FieldDifference {
  readonly field: string
  readonly old: unknown
  readonly new: unknown
  readonly secret: boolean
}

/** The fields of an entry as requests write them: names replaced by ids and addresses. `failed` are entries without one. */
export function requestBody(
  { resource, fields, path }: Entry,
  state: AccountState,
  failed: ReadonlySet<string>,
): Record<string, unknown> {
  const exists = ({ kind, name }: Target) =>
    state.idOf(kind, name) !== undefined || failed.has(`${kind}.${name}`)
  const body = replaceReferences(resource.createSchema, fields, {
    id(text, prefixes, field) {
      const target = resolveName(text, prefixes, exists, `${path}.${field}`)
      if (target === undefined) return text
      const id = state.idOf(target.kind, target.name)
      if (id === undefined)
        throw fieldProblem(field, 'invalid_field', `${field}: ${target.kind}.${target.name} was not created.`)
      return id
    },
    address: (text) => state.addressOf(text) ?? text,
  }) as Record<string, unknown>
  const { properties = {} } = resource.createSchema as { properties?: Record<string, EntryFields> }
  return Object.fromEntries(
    Object.entries(body).filter(
      ([key, value]) => !(value === '' && properties[key]?.['x-empty-means-unset']),
    ),
  )
}

/**
 * The stored record after an update by the document: absent fields get their default, except secrets, fields that are set
 * at creation only, and what the service sets or chooses.
 */
export function desiredRecord(
  resource: Resource,
  body: EntryFields,
  stored: Record<string, unknown>,
  state: AccountState,
): Record<string, unknown> {
  const checked: EntryFields = resource.parseCreate(withKeptSecrets(resource, body, stored))
  const desired = { ...stored }
  for (const [key, { schema, isFixed }] of writtenFields(resource)) {
    const isAbsent = body[key] === undefined || body[key] === null
    const isKept = isFixed || [...resource.sealed, ...resource.chosen].includes(key)
    if (isAbsent && (isKept || state.isAutomatic(stored[key]))) continue
    const value = withServiceFields(schema, checked[key], stored[key])
    if (!isFixed) desired[key] = value
    else if (!isEqual(withoutSpace(value), withoutSpace(stored[key])))
      throw fieldProblem(
        key,
        'invalid_field',
        `${key} cannot be changed after the creation. Give the ${resource.name} another name to create a new one.`,
      )
  }
  resource.verify(desired)
  return desired
}

/** Keys and certificates are stored without surrounding space. */
function withoutSpace(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\s{1,1000}/g, ' ').trim() : value
}

/** The body with stored secrets in place of those that it leaves out. */
function withKeptSecrets(resource: Resource, body: EntryFields, stored: Record<string, unknown>) {
  const copy = structuredClone(body) as Record<string, unknown>
  for (const path of resource.sealed) {
    const steps = path.split('.')
    let holder: unknown = copy
    for (const step of steps.slice(0, -1))
      holder = (holder as Record<string, unknown> | null | undefined)?.[step]
    if (typeof holder === 'object' && holder !== null)
      (holder as Record<string, unknown>)[steps.at(-1)!] ??= null
  }
  return withStoredSecrets(copy, stored, resource.sealed)
}

/** What an update by the document changes, field by field. */
export function differences(
  { resource, row }: Pick<NamedRow, 'resource' | 'row'>,
  desired: Record<string, unknown>,
  state: AccountState,
): FieldDifference[] {
  const stored = completeRecord(resource, row)
  const before = leavesOf(state.fieldsOf({ resource, row }, stored))
  const after = leavesOf(state.fieldsOf({ resource, row }, desired))
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (field) => !isEqual(before.get(field), after.get(field)),
  )
  return [
    ...changed.map((field) => ({
      field,
      old: before.get(field) ?? null,
      new: after.get(field) ?? null,
      secret: false,
    })),
    ...resource.sealed
      .filter((path) => valueAt(stored, path) !== valueAt(desired, path))
      .map((field) => ({ field, old: null, new: null, secret: true })),
  ]
}

/** The fields of a new resource, or those that a deletion removes. */
export function allFields(
  resource: Resource,
  fields: EntryFields,
  change: 'create' | 'delete',
): FieldDifference[] {
  return [...leavesOf(fields)].map(([field, value]) => {
    const secret = resource.sealed.includes(field)
    const shown = secret ? null : value
    return { field, old: change === 'delete' ? shown : null, new: change === 'create' ? shown : null, secret }
  })
}

/** The values of an object by dotted path. */
function leavesOf(fields: EntryFields): Map<string, unknown> {
  const leaves = new Map<string, unknown>()
  const add = (path: string, value: unknown) => {
    const isBranch =
      typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
    if (!isBranch) leaves.set(path, value)
    else
      for (const [name, member] of Object.entries(value)) add(path === '' ? name : `${path}.${name}`, member)
  }
  for (const [name, value] of Object.entries(fields)) add(name, value)
  return leaves
}

function valueAt(record: Record<string, unknown>, path: string): unknown {
  let value: unknown = record
  for (const step of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[step]
  return value ?? undefined
}

/** The unique names of a record, each as one text. */
export function uniqueKeys(resource: Resource, record: EntryFields): string[] {
  return resource.unique(record as never).map(({ scope, name }) => `${resource.kind}/${scope}/${name}`)
}

/** The managed resources that a document does not hold, each before what it refers to. */
export function unlisted(state: AccountState, entries: readonly Entry[]): NamedRow[] {
  const listed = new Set(entries.map(({ resource, name }) => `${resource.kind}/${name}`))
  const removable = [...state.all()].filter(
    ({ resource, name, isManaged }) => isManaged && !listed.has(`${resource.kind}/${name}`),
  )
  const byId = new Map(removable.map((named) => [named.row.id, named]))
  const sorted = new Set<NamedRow>()
  // References between stored rows have no cycles but those that a backend forms with itself, which the API rejects.
  const visit = (named: NamedRow, depth = 0) => {
    if (sorted.has(named) || depth > MAX_REFERENCE_DEPTH) return
    for (const { target } of named.resource.pointers(recordOf(named.row) as never)) {
      const next = byId.get(target)
      if (next !== undefined) visit(next, depth + 1)
    }
    sorted.add(named)
  }
  for (const named of removable) visit(named)
  return [...sorted].reverse()
}

const MAX_REFERENCE_DEPTH = 100

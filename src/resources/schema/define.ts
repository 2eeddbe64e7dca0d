import { type TSchema, Type } from 'typebox'
import type { Guard, RequiredRole, Role } from './roles.ts'
import {
  checkObject,
  type Described,
  described,
  describedSchema,
  type Fields,
  InvalidValue,
  nullable,
  type Pointer,
  pathsOf,
  plain,
  type Read,
  type RenderContext,
  text,
  type Value,
  type Written,
  writtenSchema,
} from './value.ts'

/** Who can set and read a field. */
export type Access = 'assigned' | 'fixed' | 'editable' | 'writeOnly' | 'shownOnce' | 'hidden'

/** A value with its access. A `live` field is computed for each response and never stored. */
export interface Field<V extends Value = Value, A extends Access = Access, L extends boolean = boolean> {
  readonly access: A
  readonly live: L
  readonly value: V
}

/** The description and the example of a field; a shared value may have its own. */
type Texts<V extends Value> = V extends Described
  ? [] | [description: string, example?: unknown]
  : [description: string, example?: unknown]

/** Makes the function that declares fields with this access. */
const fieldWith =
  <A extends Access, L extends boolean>(access: A, live: L) =>
  <V extends Value>(value: V, ...[description, example]: Texts<V>): Field<V, A, L> => ({
    access,
    live,
    value: description === undefined ? value : described(value, description, example),
  })

/** Set by the service and stored. */
export const assigned = fieldWith('assigned', false)
/** Computed by the service for each response. */
export const live = fieldWith('assigned', true)
/** Set at creation and never changed. */
export const fixed = fieldWith('fixed', false)
/** Set at creation or later. */
export const editable = fieldWith('editable', false)
/** Set at creation, stored, and never returned. */
export const writeOnly = fieldWith('writeOnly', false)
/** Returned once in the response to the creation, null afterwards. */
export const shownOnce = fieldWith('shownOnce', true)
/** Stored and never returned. */
export const hidden = <V extends Value>(value: V): Field<V, 'hidden', false> => ({
  access: 'hidden',
  live: false,
  value,
})

/** The fields that identify every resource. */
export const identity = {
  id: live(plain<string>(Type.String(), ''), 'The unique ID.'),
  uri: live(plain<string>(Type.String(), ''), 'The address of this object in the API.'),
  created_at: live(
    plain<string>(Type.String({ format: 'date-time' }), ''),
    'When it was created, in RFC 3339 format.',
  ),
  /** The name under which an account document manages the resource; null for all others. */
  managed_name: hidden(nullable(text(128))),
}

/** The fields of nearly every resource. */
export const common = {
  ...identity,
  description: editable(text(255), 'What it is for. Shown in lists. At most 255 bytes.', 'My first one'),
  metadata: editable(text(4096), 'Free text for your own programs, often JSON. At most 4096 bytes.'),
}

export type ResourceFields = Record<string, Field>
type KeyOf<F extends ResourceFields, N extends keyof F> = F[N]['value']['key'] extends string
  ? F[N]['value']['key']
  : N
type StoredNames<F extends ResourceFields> = {
  [N in keyof F]: F[N]['live'] extends true ? never : N
}[keyof F]
type VisibleNames<F extends ResourceFields> = {
  [N in keyof F]: F[N]['access'] extends 'hidden' | 'writeOnly' ? never : N
}[keyof F]

/** The stored record of a resource: every stored field under its write name. */
export type RecordOf<F extends ResourceFields> = {
  [N in StoredNames<F> as KeyOf<F, N>]: Written<F[N]['value']>
}
/** A resource as responses return it. */
export type ViewOf<F extends ResourceFields> = { [N in VisibleNames<F>]: Read<F[N]['value']> }

/** A name that must be unique, with the message that rejects a duplicate. */
export interface UniqueName {
  /**
   * Unique across all accounts, or within the account of the record. `each account` is the latter for names that are
   * looked up without knowing the account, so that a rejection never reveals what other accounts hold.
   */
  readonly within: 'platform' | 'account' | 'each account'
  readonly scope: string
  readonly name: string
  readonly conflict: string
}

export type Operation = 'create' | 'get' | 'list' | 'update' | 'delete'

/** The kind of rows: the path without slashes and parents, such as `edges_https_routes`. */
type KindOf<P extends string> = P extends `${infer Before}/{${string}}${infer After}`
  ? KindOf<`${Before}${After}`>
  : P extends `/${infer Words}`
    ? Joined<Words>
    : string
type Joined<P extends string> = P extends `${infer First}/${infer Rest}` ? `${First}_${Joined<Rest>}` : P

export interface Declaration<F extends ResourceFields, P extends string = string> {
  /** Human-readable name, such as `IP policy rule`. */
  readonly name: string
  /** What its operations are for, in one sentence of the reference. */
  readonly description: string
  /** Collection path; a segment in braces is the id of a parent, such as `/edges/https/{edge_id}/routes`. */
  readonly path: P
  readonly prefix: string
  readonly listKey: string
  readonly fields: F
  readonly operations?: readonly Operation[]
  /** Fields by whose values a list can be narrowed, as query parameters. */
  readonly selectBy?: readonly (keyof F & string)[]
  /** Comes from traffic, not from calls: lives in the session registry or in tables of its own, not among the stored rows. */
  readonly online?: boolean
  /** The roles that may read and change it; by default `read_only` reads and `developer` changes. */
  readonly roles?: { readonly read?: Role; readonly change?: Role; readonly guard?: Guard }
  /** Stem of its event types, such as `ip_policy_rule` for `ip_policy_rule_created.v0`. */
  readonly event?: string
  /** `uri` without the base address. */
  readonly relativeUri?: boolean
  /** The unique names of a record. */
  readonly unique?: (record: RecordOf<F>) => UniqueName[]
  /** What account documents call a record that has no managed name; unique in the account, empty if it has none. */
  readonly naturalName?: (record: RecordOf<F>) => string
  /** Whether the service created the record by itself, so that account documents leave it out. */
  readonly isAutomatic?: (record: RecordOf<F>) => boolean
  /** Fields that the service chooses when a creation leaves them out; account documents that leave them out keep them. */
  readonly chosen?: readonly (keyof F & string)[]
  /** Validates several fields together; returns the offending field and a message. */
  readonly rule?: (record: RecordOf<F>) => { field: string; message: string } | undefined
}

/** A declared resource and everything derived from its declaration. */
export interface Resource<F extends ResourceFields = ResourceFields, K extends string = string> {
  readonly name: string
  readonly description: string
  readonly path: string
  readonly prefix: string
  readonly listKey: string
  /** The kind of its rows in the store. */
  readonly kind: K
  /** The group of its operations: the kind, unless it is an alias. */
  readonly tag: string
  readonly fields: F
  readonly operations: readonly Operation[]
  readonly selectBy: readonly string[]
  readonly online: boolean
  /** The roles required to read and change it. */
  readonly roles: { readonly read: RequiredRole; readonly change: RequiredRole }
  readonly event: string | undefined
  readonly relativeUri: boolean
  /** Parent ids in the path, such as `edge_id`. */
  readonly parents: readonly string[]
  /** Fields that are modules, each with its own API routes. */
  readonly modules: readonly string[]
  /** Dotted paths of the record's secrets. */
  readonly sealed: readonly string[]
  /** The secrets that responses return; reading them writes an audit record. */
  readonly revealed: readonly string[]
  readonly createSchema: TSchema
  readonly updateSchema: TSchema
  readonly viewSchema: TSchema
  readonly listSchema: TSchema
  /** Parses the body of a creation into a complete record; assigned fields have their fallback until the API sets them. */
  parseCreate(body: Record<string, unknown>): RecordOf<F>
  /** Parses the fields of an update of the stored record; absent and null mean unchanged. */
  parseUpdate(body: Record<string, unknown>, stored?: Record<string, unknown>): Partial<RecordOf<F>>
  /** Validates the whole record after a creation or update. */
  verify(record: RecordOf<F>): void
  render(record: RecordOf<F>, liveValues: Record<string, unknown>, context: RenderContext): ViewOf<F>
  pointers(record: RecordOf<F>): Pointer[]
  unique(record: RecordOf<F>): UniqueName[]
  naturalName(record: RecordOf<F>): string
  isAutomatic(record: RecordOf<F>): boolean
  readonly chosen: readonly string[]
}

export type View<R> = R extends Resource<infer F> ? ViewOf<F> : never
export type StoredRecord<R> = R extends Resource<infer F> ? RecordOf<F> : never

/** Marks a value as an edge module, which gets its own API routes under the resource. */
export const moduleMark = Symbol('module')

/** The schema of a page of a list. */
export function listSchema(key: string, item: TSchema): TSchema {
  return Type.Object({
    [key]: Type.Array(item, { description: 'The objects, newest first.' }),
    uri: Type.String({ description: 'The address of this list.' }),
    next_page_uri: Type.Union([Type.String(), Type.Null()], {
      description: 'The address of the next page; null on the last page.',
    }),
  })
}

function pickFields(fields: ResourceFields, predicate: (field: Field) => boolean): Fields {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => (predicate(field) ? [[name, field.value]] : [])),
  )
}

function requiredRoles({
  read = 'read_only',
  change = 'developer',
  guard,
}: Declaration<never>['roles'] = {}) {
  return {
    read: { role: read },
    change: guard === undefined ? { role: change } : { role: change, guard },
  }
}

/** Declares a resource once: types, validation, routes, OpenAPI, storage and the contract test are derived from it. */
export function defineResource<const F extends ResourceFields, const P extends string>(
  declaration: Declaration<F, P>,
): Resource<F, KindOf<P>> {
  const { fields, path } = declaration
  const createFields = pickFields(
    fields,
    ({ access }) => access === 'fixed' || access === 'editable' || access === 'writeOnly',
  )
  const updateFields = pickFields(fields, (field) => field.access === 'editable')
  const storedFields = pickFields(fields, (field) => !field.live)
  const visibleFields = Object.entries(fields).filter(
    ([, { access }]) => access !== 'hidden' && access !== 'writeOnly',
  )
  // Computed once: a list response renders a thousand records.
  const viewFields = visibleFields.map(([name, { access, live, value }]) => ({
    name,
    key: value.key ?? name,
    live,
    absentValue: access === 'shownOnce' ? null : value.fallback,
    value,
  }))
  const viewSchema = {
    ...Type.Object(
      Object.fromEntries(
        visibleFields.map(([name, { access, value }]) => [
          name,
          describedSchema(access === 'shownOnce' ? Type.Union([value.read, Type.Null()]) : value.read, value),
        ]),
      ),
    ),
    title: declaration.name,
  }

  const kind = path
    .replace(/\/\{[a-z_]+\}/g, '')
    .slice(1)
    .replaceAll('/', '_') as KindOf<P>

  return {
    name: declaration.name,
    description: declaration.description,
    path,
    prefix: declaration.prefix,
    listKey: declaration.listKey,
    kind,
    tag: kind,
    fields,
    operations: declaration.operations ?? ['create', 'get', 'list', 'update', 'delete'],
    selectBy: declaration.selectBy ?? [],
    online: declaration.online ?? false,
    roles: requiredRoles(declaration.roles),
    event: declaration.event,
    relativeUri: declaration.relativeUri ?? false,
    parents: [...path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1]!),
    modules: Object.entries(fields).flatMap(([name, field]) => (moduleMark in field.value ? [name] : [])),
    sealed: pathsOf(storedFields, ({ sealed }) => sealed),
    revealed: pathsOf(storedFields, ({ revealed = [] }) => revealed),
    createSchema: writtenSchema(createFields),
    updateSchema: writtenSchema(updateFields, { partial: true }),
    viewSchema,
    listSchema: listSchema(declaration.listKey, viewSchema),

    parseCreate(body) {
      const record = checkObject(createFields, body, '')
      for (const [name, value] of Object.entries(storedFields)) record[value.key ?? name] ??= value.fallback
      return record as RecordOf<F>
    },

    parseUpdate(body, stored = {}) {
      const changes: Record<string, unknown> = {}
      for (const [name, value] of Object.entries(updateFields)) {
        const key = value.key ?? name
        const input = body[key]
        if (input === undefined || input === null) continue
        changes[key] = value.check(value.mergesUpdates ? mergeFields(stored[key], input) : input, key)
      }
      return changes as Partial<RecordOf<F>>
    },

    verify(record) {
      const violation = declaration.rule?.(record)
      if (violation !== undefined) throw new InvalidValue(violation.field, violation.message)
    },

    render(record, liveValues, context) {
      const stored = record as Record<string, unknown>
      const view: Record<string, unknown> = {}
      for (const { name, key, live, absentValue, value } of viewFields) {
        const liveValue = liveValues[name]
        if (liveValue !== undefined) view[name] = liveValue
        else if (live) view[name] = absentValue
        // A record that an earlier release stored lacks the fields added since.
        else view[name] = value.render(key in stored ? stored[key] : value.fallback, context)
      }
      return view as ViewOf<F>
    },

    pointers(record) {
      const stored = record as Record<string, unknown>
      return Object.entries(storedFields).flatMap(([name, value]) => {
        const key = value.key ?? name
        if (!(key in stored)) return []
        return value.pointers(stored[key]).map((pointer) => ({
          ...pointer,
          path: pointer.path === '' ? key : `${key}${pointer.path.startsWith('[') ? '' : '.'}${pointer.path}`,
        }))
      })
    },

    unique(record) {
      const names = declaration.unique?.(record) ?? []
      const { managed_name: name } = record as { managed_name?: string | null }
      if (!name) return names
      const conflict = `The account has another ${declaration.name} with the managed name ${name}.`
      return [...names, { ...managedClaim(declaration, name), conflict }]
    },

    naturalName: declaration.naturalName ?? (() => ''),
    isAutomatic: declaration.isAutomatic ?? (() => false),
    chosen: declaration.chosen ?? [],
  }
}

/** The stored object with the fields that an update names; null means unchanged here too. */
function mergeFields(stored: unknown, update: object): object {
  const named = Object.entries(update).filter(([, field]) => field !== null)
  return { ...(stored ?? {}), ...Object.fromEntries(named) }
}

/** The unique name of the resource that documents call `name`. */
export function managedClaim(
  { prefix }: { readonly prefix: string },
  name: string,
): Omit<UniqueName, 'conflict'> {
  return { within: 'account', scope: `managed:${prefix}`, name }
}

/** The same resource with the same rows at a second path, under another name. */
export function aliasOf<R extends Resource>(
  resource: R,
  names: Pick<Resource, 'name' | 'description' | 'path' | 'tag' | 'listKey'>,
): R {
  const viewSchema = { ...resource.viewSchema, title: names.name }
  return { ...resource, ...names, viewSchema, listSchema: listSchema(names.listKey, viewSchema) }
}

import { hasRole, ReservedAddr, type Resource, type ResourceKind } from '../../resources/index.ts'
import { type Row, recordOf } from '../../store/index.ts'
import type { ApiCall } from '../call.ts'
import { problem } from '../problems.ts'
import {
  type AccountDocument,
  derivedName,
  documentResources,
  type EntryFields,
  type ReferenceVisitor,
  replaceReferences,
  uniqueName,
  writtenPart,
} from './document.ts'

/** Documents are for accounts that people can read; this bounds the memory of one call. */
const MAX_RESOURCES = 10_000
const PAGE_SIZE = 500

/** A stored resource and its name in documents. */
export interface NamedRow {
  readonly resource: Resource
  readonly name: string
  readonly row: Row
  /** Whether a document was applied that holds it. */
  readonly isManaged: boolean
}

/** The resources of an account that the caller may read, by name and by id. */
export class AccountState {
  readonly #rows = new Map<string, Map<string, NamedRow>>()
  readonly #names = new Map<string, { kind: string; name: string }>()
  readonly #ids = new Map<string, string>()
  readonly #addresses = new Map<string, string>()
  readonly #addressNames = new Map<string, string>()
  /** The ids of what the service creates by itself; references to them are not part of documents. */
  readonly #automatic = new Set<string>()

  static async load(call: ApiCall): Promise<AccountState> {
    const state = new AccountState()
    let count = 0
    for (const resource of documentResources) {
      if (!hasRole(call.principal.role, resource.roles.read.role)) continue
      const rows = await readRows(resource, call, MAX_RESOURCES - count)
      count += rows.length
      state.#addRows(resource, rows)
    }
    return state
  }

  /** Managed names first: a derived name that is taken gets a suffix. */
  #addRows(resource: Resource, rows: readonly Row[]): void {
    const named = new Map<string, NamedRow>()
    this.#rows.set(resource.kind, named)
    const add = (row: Row, name: string, isManaged: boolean) => {
      named.set(name, { resource, name, row, isManaged })
      this.register(resource.kind, name, row.id, row.data.addr)
    }
    for (const row of rows) {
      const name = managedNameOf(row)
      if (name !== undefined) add(row, name, true)
    }
    for (const row of rows) {
      if (managedNameOf(row) !== undefined) continue
      if (resource.isAutomatic(row.data)) {
        this.#automatic.add(row.id)
        continue
      }
      const name = derivedName(resource, row.id, row.data)
      add(row, named.has(name) ? uniqueName(name, row.id) : name, false)
    }
  }

  /** Makes a resource known by its name; `address` is that of a reserved address. */
  register(kind: string, name: string, id: string, address?: unknown): void {
    this.#names.set(id, { kind, name })
    this.#ids.set(`${kind}/${name}`, id)
    if (kind !== ReservedAddr.kind || typeof address !== 'string') return
    this.#addresses.set(name, address)
    this.#addressNames.set(address, name)
  }

  find(kind: string, name: string): NamedRow | undefined {
    return this.#rows.get(kind)?.get(name)
  }

  *all(): Iterable<NamedRow> {
    for (const rows of this.#rows.values()) yield* rows.values()
  }

  idOf(kind: string, name: string): string | undefined {
    return this.#ids.get(`${kind}/${name}`)
  }

  /** The address that was reserved under this name. */
  addressOf(name: string): string | undefined {
    return this.#addresses.get(name)
  }

  isAutomatic(id: unknown): boolean {
    return typeof id === 'string' && this.#automatic.has(id)
  }

  /** The document of the account, with sorted names, and the paths of the secrets that it leaves out. */
  export(): { document: AccountDocument; omittedSecrets: string[] } {
    const document: Partial<Record<ResourceKind, Record<string, EntryFields>>> = {}
    const omittedSecrets: string[] = []
    for (const [kind, rows] of this.#rows) {
      const names = [...rows.keys()].sort()
      if (names.length === 0) continue
      const entries = names.map((name) => [name, this.fieldsOf(rows.get(name)!)])
      document[kind as ResourceKind] = Object.fromEntries(entries)
      for (const name of names) {
        const { resource, row } = rows.get(name)!
        for (const path of Object.keys(row.secrets ?? {}))
          if (isWritten(resource, path)) omittedSecrets.push(`${kind}.${name}.${path}`)
      }
    }
    return { document, omittedSecrets }
  }

  /** The fields of a stored resource as a document writes them: without defaults and secrets, references by name. */
  fieldsOf(
    { resource, row }: Pick<NamedRow, 'resource' | 'row'>,
    record: EntryFields = row.data,
  ): EntryFields {
    const fields: Record<string, unknown> = {}
    for (const [key, { schema, fallback, isRequired }] of writtenFields(resource)) {
      const value = record[key]
      if (value === null || value === undefined || this.isAutomatic(value)) continue
      if (resource.sealed.includes(key) || (!isRequired && isEqual(value, fallback))) continue
      const written = writtenPart(schema, withoutSecrets(resource, key, value))
      fields[key] = replaceReferences(schema, written, this.#nameVisitor)
    }
    return fields
  }

  /** Writes names for ids, with the kind where a reference may be of several; what the caller may not read stays an id. */
  readonly #nameVisitor: ReferenceVisitor = {
    id: (id, prefixes) => {
      const target = this.#names.get(id)
      if (target === undefined) return id
      return prefixes.length > 1 ? `${target.kind}/${target.name}` : target.name
    },
    address: (address) => this.#addressNames.get(address) ?? address,
  }
}

function managedNameOf({ data }: Row): string | undefined {
  return (data as { managed_name?: string | null }).managed_name ?? undefined
}

async function readRows(resource: Resource, { store, principal }: ApiCall, max: number): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const before = rows.at(-1)?.id
    const page = await store.list(resource.kind, principal.accountId, { limit: PAGE_SIZE, before })
    rows.push(...page)
    if (rows.length > max)
      throw problem(
        'conflict',
        `The account has more than ${MAX_RESOURCES} resources, too many for a document. Use the operations of the resources instead.`,
      )
    if (page.length < PAGE_SIZE) return rows
  }
}

interface WrittenField {
  readonly schema: unknown
  readonly fallback: unknown
  readonly isRequired: boolean
  /** Set at creation only. */
  readonly isFixed: boolean
}

/** The fields of a creation with their schema and default, by the name that requests write. */
export function writtenFields(resource: Resource): Map<string, WrittenField> {
  const written = Object.entries(resource.fields).filter(
    ([, { access }]) => access === 'fixed' || access === 'editable' || access === 'writeOnly',
  )
  return new Map(
    written.map(([name, { access, value }]) => [
      value.key ?? name,
      {
        schema: value.written,
        fallback: value.fallback,
        isRequired: value.required,
        isFixed: access !== 'editable',
      },
    ]),
  )
}

/** Whether a document may hold the secret at this path, or only the service sets it. */
function isWritten({ createSchema }: Resource, path: string): boolean {
  let schema: unknown = createSchema
  for (const step of path.split('.')) {
    const { properties = {} } = schema as { properties?: Record<string, unknown> }
    if (!(step in properties)) return false
    schema = properties[step]
  }
  return true
}

/** Rows hold null in place of secrets; a record read with its secrets does not. */
function withoutSecrets({ sealed }: Resource, key: string, value: unknown): unknown {
  const paths = sealed.filter((path) => path.startsWith(`${key}.`))
  if (paths.length === 0) return value
  const copy = { [key]: structuredClone(value) } as Record<string, unknown>
  for (const path of paths) {
    const steps = path.split('.')
    let holder: unknown = copy
    for (const step of steps.slice(0, -1)) holder = (holder as Record<string, unknown> | null)?.[step]
    if (typeof holder === 'object' && holder !== null)
      (holder as Record<string, unknown>)[steps.at(-1)!] = null
  }
  return copy[key]
}

/** Whether two values are the same JSON, whatever the order of their members. */
export function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one, sorted) === JSON.stringify(other, sorted)
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** The record of a row with its secrets, and with the defaults of fields that were added since it was stored. */
export function completeRecord(resource: Resource, row: Row): Record<string, unknown> {
  const record: Record<string, unknown> = { ...recordOf(row) }
  for (const [name, { live, value }] of Object.entries(resource.fields)) {
    const key = value.key ?? name
    if (live) continue
    record[key] = key in record ? (value.complete?.(record[key]) ?? record[key]) : value.fallback
  }
  return record
}

import type { Resource, UniqueName } from '../../resources/index.ts'
import type { Claim, Draft, Reference, Row } from '../store.ts'

type JsonObject = Record<string, unknown>

function resolvePath(
  record: JsonObject,
  path: readonly string[],
): { holder: JsonObject; key: string } | undefined {
  let holder = record
  for (const step of path.slice(0, -1)) {
    const next = holder[step]
    if (typeof next !== 'object' || next === null) return undefined
    holder = next as JsonObject
  }
  return { holder, key: path.at(-1)! }
}

/** Separates the secrets from a record, so that plain columns never hold one. */
function splitSecrets(
  record: JsonObject,
  paths: readonly string[],
): { open: JsonObject; secrets: Record<string, string> | undefined } {
  if (paths.length === 0) return { open: record, secrets: undefined }
  const open = structuredClone(record)
  const secrets: Record<string, string> = {}
  for (const path of paths) {
    const slot = resolvePath(open, path.split('.'))
    const value = slot?.holder[slot.key]
    if (slot === undefined || typeof value !== 'string') continue
    secrets[path] = value
    slot.holder[slot.key] = null
  }
  return { open, secrets: Object.keys(secrets).length === 0 ? undefined : secrets }
}

/** Puts the secrets back into a record. */
function joinSecrets<T extends JsonObject>(open: T, secrets: Readonly<Record<string, string>>): T {
  const record = structuredClone(open)
  for (const [path, value] of Object.entries(secrets)) {
    const slot = resolvePath(record, path.split('.'))
    if (slot !== undefined) slot.holder[slot.key] = value
  }
  return record
}

/** The input of a request with stored secrets where it says null: null is how secrets read, and means unchanged. */
export function withStoredSecrets(
  input: JsonObject,
  stored: JsonObject,
  paths: readonly string[],
): JsonObject {
  if (paths.length === 0) return input
  const result = structuredClone(input)
  for (const path of paths) {
    const slot = resolvePath(result, path.split('.'))
    const storedSlot = resolvePath(stored, path.split('.'))
    if (slot?.holder[slot.key] === null && typeof storedSlot?.holder[storedSlot.key] === 'string')
      slot.holder[slot.key] = storedSlot.holder[storedSlot.key]
  }
  return result
}

/** The claim for a unique name of a record in this account. */
export function claimOf({ within, scope, name }: Omit<UniqueName, 'conflict'>, account: string): Claim {
  if (within === 'each account') return { scope, name: `${name} ${account}` }
  return { scope: within === 'account' ? `${scope}@${account}` : scope, name }
}

/** The draft of a record: its data, secrets, claims and references. */
export function draftOf(resource: Resource, id: string, account: string, record: JsonObject): Draft {
  const { open, secrets } = splitSecrets(record, resource.sealed)
  const claims = resource.unique(record).map((unique) => claimOf(unique, account))
  const references: Reference[] = resource
    .pointers(record)
    .map(({ target, onDelete, path }) => ({ field: path, target, onDelete }))
  return { kind: resource.kind, id, account, data: open, secrets, claims, references }
}

/** The record of a row, including its secrets. */
export function recordOf<R extends Row>(row: R): R['data'] {
  return row.secrets === undefined ? { ...row.data } : joinSecrets(row.data, row.secrets)
}

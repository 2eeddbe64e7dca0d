import type { Resource, Stock, UniqueName } from '../resources/index.ts'
import type { Claim, Draft, Reference, Row } from './store.ts'

type Body = Record<string, unknown>

function at(record: Body, path: readonly string[]): { holder: Body; key: string } | undefined {
  let holder = record
  for (const step of path.slice(0, -1)) {
    const next = holder[step]
    if (typeof next !== 'object' || next === null) return undefined
    holder = next as Body
  }
  return { holder, key: path.at(-1)! }
}

/** Takes the secrets out of a record, so that what is stored openly never holds one. */
function splitSecrets(
  record: Body,
  paths: readonly string[],
): { open: Body; secrets: Record<string, string> | undefined } {
  if (paths.length === 0) return { open: record, secrets: undefined }
  const open = structuredClone(record)
  const secrets: Record<string, string> = {}
  for (const path of paths) {
    const place = at(open, path.split('.'))
    const value = place?.holder[place.key]
    if (place === undefined || typeof value !== 'string') continue
    secrets[path] = value
    place.holder[place.key] = null
  }
  return { open, secrets: Object.keys(secrets).length === 0 ? undefined : secrets }
}

/** Puts the secrets of a record back in their places. */
function joinSecrets(open: Readonly<Body>, secrets: Readonly<Record<string, string>>): Body {
  const record = structuredClone(open) as Body
  for (const [path, value] of Object.entries(secrets)) {
    const place = at(record, path.split('.'))
    if (place !== undefined) place.holder[place.key] = value
  }
  return record
}

/** What a request gives, with stored secrets in the places where it says null: so it read them, or means them unchanged. */
export function withStoredSecrets(given: Body, stored: Body, paths: readonly string[]): Body {
  if (paths.length === 0) return given
  const filled = structuredClone(given)
  for (const path of paths) {
    const place = at(filled, path.split('.'))
    const before = at(stored, path.split('.'))
    if (place?.holder[place.key] === null && typeof before?.holder[before.key] === 'string')
      place.holder[place.key] = before.holder[before.key]
  }
  return filled
}

/** The claim by which a record of this account holds a unique name. */
export function claimOf({ within, scope, name }: Omit<UniqueName, 'taken'>, account: string): Claim {
  if (within === 'each account') return { scope, name: `${name} ${account}` }
  return { scope: within === 'account' ? `${scope}@${account}` : scope, name }
}

/** Everything the store keeps for a record: the record itself, its secrets apart, its unique names and its references. */
export function draftOf(resource: Resource, id: string, account: string, record: Body): Draft {
  const { open, secrets } = splitSecrets(record, resource.sealed)
  const claims = resource.unique(record as Stock<Resource>).map((unique) => claimOf(unique, account))
  const references: Reference[] = resource
    .pointers(record as Stock<Resource>)
    .map(({ target, onDelete, at }) => ({ field: at, target, onDelete }))
  return { kind: resource.kind, id, account, data: open, secrets, claims, references }
}

/** The record of a row, with its secrets back in their places. */
export function recordOf(row: Row): Body {
  return row.secrets === undefined ? { ...row.data } : joinSecrets(row.data, row.secrets)
}

import { hideUrlSecrets } from '../../base/text/url-secrets.ts'
import type { Resource } from '../../resources/index.ts'
import type { Draft, FieldChange, Row } from '../../store/index.ts'

const MAX_CHANGES = 100
/** Longer values, such as certificates, are cut. */
const MAX_VALUE_LENGTH = 500
/** Maps from names that users choose; a header can carry a credential, so that its value is never recorded. */
const SECRET_MAPS = /^(request|response)_headers\.add\.|^headers\./

type State = Pick<Row, 'data' | 'secrets'> | Pick<Draft, 'data' | 'secrets'>

/**
 * The fields in which two states of a resource differ, for the audit log: dotted paths with the old and the new value.
 * Without a new state, what a deletion removed. Of secrets, only that they changed.
 */
export function changesBetween(resource: Resource, before: State, after: State | undefined): FieldChange[] {
  const old = leavesOf(resource, before.data)
  const current = after === undefined ? new Map<string, unknown>() : leavesOf(resource, after.data)
  const changes: FieldChange[] = []
  for (const field of new Set([...old.keys(), ...current.keys()])) {
    const [oldValue, newValue] = [old.get(field), current.get(field)]
    if (JSON.stringify(oldValue) === JSON.stringify(newValue)) continue
    if (SECRET_MAPS.test(field)) changes.push({ field, secret: true })
    else changes.push({ field, old: boundValue(oldValue), new: boundValue(newValue) })
  }
  for (const field of resource.sealed)
    if (before.secrets?.[field] !== after?.secrets?.[field]) changes.push({ field, secret: true })
  return changes.slice(0, MAX_CHANGES)
}

/** The values of a record by path, without those that are unset, hidden or secret. */
function leavesOf({ fields, sealed }: Resource, data: Readonly<Record<string, unknown>>) {
  const leaves = new Map<string, unknown>()
  const add = (path: string, value: unknown) => {
    if (value === null || value === undefined || value === '' || sealed.includes(path)) return
    if (typeof value !== 'object' || Array.isArray(value)) leaves.set(path, value)
    else for (const [name, each] of Object.entries(value)) add(`${path}.${name}`, each)
  }
  for (const [name, value] of Object.entries(data)) {
    const access = fields[name]?.access
    if (access !== 'hidden' && access !== 'writeOnly' && access !== 'shownOnce') add(name, value)
  }
  return leaves
}

function boundValue(value: unknown): unknown {
  if (value === undefined) return null
  if (typeof value === 'string') return cut(value.includes('://') ? hideUrlSecrets(value) : value)
  const text = JSON.stringify(value)
  return text.length <= MAX_VALUE_LENGTH ? value : cut(text)
}

function cut(text: string): string {
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}…`
}

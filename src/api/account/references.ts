import { prefixOf } from '../../base/values/id.ts'
import { ReservedAddr, type Resource, resourceOfPrefix } from '../../resources/index.ts'
import { fieldProblem } from '../problems.ts'
import {
  type AccountDocument,
  documentResources,
  type EntryFields,
  isValidName,
  replaceReferences,
} from './document.ts'
import type { AccountState } from './state.ts'

/** One resource of a document. */
export interface Entry {
  readonly resource: Resource
  readonly name: string
  readonly fields: EntryFields
  /** Its place in the document, such as `ip_policies.office`. */
  readonly path: string
}

/** A reference inside an entry that names another resource. */
export interface Target {
  readonly kind: string
  readonly name: string
}

/**
 * The entries of a document in batches of one kind that can be written together: each follows what it refers to. Throws a
 * problem about the document.
 */
export function orderedBatches(document: AccountDocument, state: AccountState): Entry[][] {
  const entries = new Map<string, Entry>()
  for (const resource of documentResources)
    for (const [name, fields] of Object.entries(document[resource.kind as keyof AccountDocument] ?? {})) {
      const path = `${resource.kind}.${name}`
      if (!isValidName(name))
        throw fieldProblem(path, 'invalid_field', `${path}: an id cannot be a name. Choose another name.`)
      entries.set(`${resource.kind}/${name}`, { resource, name, fields, path })
    }
  const exists = ({ kind, name }: Target) =>
    entries.has(`${kind}/${name}`) || state.idOf(kind, name) !== undefined
  const dependencies = new Map(
    [...entries.values()].map((entry) => [
      entry,
      targetsOf(entry, exists).flatMap(({ kind, name }) => entries.get(`${kind}/${name}`) ?? []),
    ]),
  )
  const batches: Entry[][] = []
  for (const entry of inDependencyOrder(dependencies)) {
    const batch = batches.at(-1)
    const fits =
      batch !== undefined &&
      batch.length < MAX_BATCH &&
      batch[0]!.resource === entry.resource &&
      !dependencies.get(entry)!.some((dependency) => batch.includes(dependency))
    if (fits) batch.push(entry)
    else batches.push([entry])
  }
  return batches
}

/** Calls that arrive together share a commit. */
const MAX_BATCH = 50

/** What an entry refers to by name. */
function targetsOf({ resource, fields, path }: Entry, exists: (target: Target) => boolean): Target[] {
  const targets: Target[] = []
  replaceReferences(resource.createSchema, fields, {
    id(text, prefixes, field) {
      const target = resolveName(text, prefixes, exists, `${path}.${field}`)
      if (target !== undefined) targets.push(target)
      return text
    },
    address(text) {
      const target = { kind: ReservedAddr.kind, name: text }
      if (exists(target)) targets.push(target)
      return text
    },
  })
  return targets
}

/** The resource that a reference names as `name` or `kind/name`; undefined for an id. Throws if there is none, or several. */
export function resolveName(
  text: string,
  prefixes: readonly string[],
  exists: (target: Target) => boolean,
  path: string,
): Target | undefined {
  const kinds = prefixes.flatMap((prefix) => resourceOfPrefix(prefix)?.kind ?? [])
  const slash = text.indexOf('/')
  const [kind, name] = slash === -1 ? [undefined, text] : [text.slice(0, slash), text.slice(slash + 1)]
  const targets = kinds
    .filter((each) => kind === undefined || each === kind)
    .map((each) => ({ kind: each, name }))
    .filter(exists)
  if (targets.length === 1) return targets[0]
  if (targets.length > 1)
    throw fieldProblem(
      path,
      'invalid_field',
      `${path}: "${text}" is ambiguous; write ${targets.map((each) => `${each.kind}/${each.name}`).join(' or ')}.`,
    )
  const prefix = prefixOf(text)
  if (prefix !== undefined && prefixes.includes(prefix)) return undefined
  throw fieldProblem(
    path,
    'invalid_field',
    `${path}: neither the document nor the account has "${text}" in ${kinds.join(', ')}.`,
  )
}

/** Sorts so that each item follows its dependencies, and otherwise keeps the order. Rejects cycles. */
function inDependencyOrder(dependencies: ReadonlyMap<Entry, readonly Entry[]>): Entry[] {
  const sorted = new Set<Entry>()
  const open = new Set<Entry>()
  // Not recursive: a document may hold a chain longer than the stack.
  const stack: { item: Entry; pending: Entry[] }[] = []
  const enter = (item: Entry) => {
    if (sorted.has(item)) return
    if (open.has(item)) throw cycleProblem(item, [...open])
    open.add(item)
    stack.push({ item, pending: [...dependencies.get(item)!] })
  }
  for (const first of dependencies.keys()) {
    enter(first)
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const dependency = top.pending.pop()
      if (dependency !== undefined) enter(dependency)
      else {
        stack.pop()
        open.delete(top.item)
        sorted.add(top.item)
      }
    }
  }
  return [...sorted]
}

const MAX_SHOWN_STEPS = 10

function cycleProblem(item: Entry, open: readonly Entry[]) {
  const cycle = [...open.slice(open.indexOf(item)), item].map(({ path }) => path)
  const steps = cycle.length > MAX_SHOWN_STEPS ? [...cycle.slice(0, MAX_SHOWN_STEPS), '…'] : cycle
  return fieldProblem(item.path, 'invalid_field', `${item.path} refers to itself: ${steps.join(' → ')}.`)
}

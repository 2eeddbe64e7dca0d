import { formatTimestamp } from '../../base/values/clock.ts'
import { newId, prefixOf } from '../../base/values/id.ts'
import { type Resource, resourceOfPrefix, type StoredRecord } from '../../resources/index.ts'
import {
  claimOf,
  draftOf,
  type FieldChange,
  NameTaken,
  NoSuchTarget,
  type Row,
  recordOf,
  StillReferenced,
  type Transaction,
  withStoredSecrets,
} from '../../store/index.ts'
import type { ApiCall, CommitContext, WriteContext } from '../call.ts'
import { fieldProblem, problem } from '../problems.ts'
import { requireGuardRole } from '../roles.ts'
import { actionOf, withArticle } from '../routes.ts'
import { changesBetween } from './audit-changes.ts'
import { type ListDescription, listPage } from './list-page.ts'
import type { PageRequest } from './paging.ts'

/** A query for online objects: the newest `limit` ones, from the id `from` on. */
export interface OnlineQuery {
  readonly from: string | undefined
  readonly limit: number
}

/** What a resource does beyond CRUD. Each hook receives the record as the previous one returned it. */
export interface ResourceHooks<R extends Resource = Resource> {
  readonly resource: R
  /** Before the transaction: fills assigned fields, generates keys, signs. Only this response contains `reveal`. */
  prepare?(
    record: StoredRecord<R>,
    context: WriteContext<R['kind']>,
  ): Promise<{ record: StoredRecord<R>; reveal?: Record<string, unknown> }>
  /** Inside the transaction: rules that involve other rows, and fields that depend on them. */
  commit?(record: StoredRecord<R>, context: CommitContext<R['kind']>): Promise<StoredRecord<R>>
  /** Inside the transaction, before a deletion. */
  beforeRemove?(row: Row<R['kind']>, call: ApiCall & { tx: Transaction }): Promise<void>
  /** After a creation is committed. */
  afterCreate?(row: Row<R['kind']>, call: ApiCall): Promise<void>
  /** After an update or deletion is committed. */
  afterChange?(id: string, call: ApiCall): void
  /** Objects that are not stored, which lists and gets show too; it may return more than the query asks for. */
  onlineItems?(call: ApiCall, query: OnlineQuery): Promise<Body[]>
  /** Fields computed for each response. */
  view?(row: Row<R['kind']>, record: StoredRecord<R>, call: ApiCall): Promise<Record<string, unknown>>
}

/** Declares the hooks of a resource; a plain one has none. */
export function crud<R extends Resource>(
  resource: R,
  hooks: Omit<ResourceHooks<R>, 'resource'> = {},
): ResourceHooks {
  return { resource, ...hooks }
}

type Body = Record<string, unknown>
type Parents = Record<string, string>

/** The path of a collection with the parent ids filled in. */
function collectionPath(resource: Resource, parents: Parents): string {
  return resource.path.replace(/\{([a-z_]+)\}/g, (_, name: string) => parents[name] ?? '')
}

/** Renders a row for a response. */
export async function render(hooks: ResourceHooks, row: Row, call: ApiCall, reveal?: Body): Promise<Body> {
  return hooks.view === undefined
    ? renderRow(hooks, row, call, reveal)
    : renderRow(hooks, row, call, {
        ...(await hooks.view(row, recordOf(row), call)),
        ...reveal,
      })
}

/** The synchronous part, for resources without `view`: a list renders up to a hundred rows. */
function renderRow({ resource }: ResourceHooks, row: Row, call: ApiCall, computed?: Body): Body {
  const record = resource.sealed.length === 0 ? row.data : recordOf(row)
  if (call.renderContext.secrets && resource.revealed.some((secret) => row.secrets?.[secret]))
    call.secrets.shown = true
  const path = resource.parents.length === 0 ? resource.path : collectionPath(resource, row.data as Parents)
  const identity = {
    id: row.id,
    uri: `${resource.relativeUri ? '' : call.config.apiUrl()}${path}/${row.id}`,
    created_at: formatTimestamp(row.createdAt),
  }
  if (computed !== undefined) Object.assign(identity, computed)
  Object.assign(identity, call.dialect.shownBeside(record))
  return resource.render(record, identity, call.renderContext)
}

/** Replaces an error of the store by the problem the caller sees. */
function rethrowAsProblem(resource: Resource, record: Body, { principal }: ApiCall, error: unknown): never {
  if (error instanceof NameTaken) {
    const name = resource
      .unique(record)
      .find((unique) => claimOf(unique, principal.accountId).name === error.claim.name)
    throw problem('taken', name?.conflict ?? 'This name is taken already.')
  }
  if (error instanceof NoSuchTarget)
    throw fieldProblem(
      error.reference.field,
      'no_such_reference',
      error.reference.field,
      error.reference.target,
    )
  throw error
}

function authorOf({ principal }: ApiCall) {
  return { principal: principal.ownerId, credential: principal.credentialId }
}

/** The audit record of a successful call. */
export function auditEntry(call: ApiCall, object: string | undefined, changes?: readonly FieldChange[]) {
  return {
    account: call.principal.accountId,
    principal: call.principal.ownerId,
    credential: call.principal.credentialId,
    source: call.source,
    requestId: call.operationId,
    action: actionOf(call.operation),
    kind: call.operation.tag,
    object,
    outcome: 'done' as const,
    detail: call.principal.channel,
    ...(changes !== undefined && { changes }),
  }
}

/** Finds the row that a path names, or throws 404; rows of other accounts do not exist for the caller. */
export async function find<R extends Resource>(
  resource: R,
  call: ApiCall,
  id: string,
  parents: Parents,
  reader: Pick<Transaction, 'get'> = call.store,
): Promise<Row<R['kind']>> {
  if (prefixOf(id) !== resource.prefix) throw problem('malformed_id', withArticle(resource.name), id)
  const row = await reader.get<R['kind']>(resource.kind, call.principal.accountId, id)
  const hasOtherParent = resource.parents.some((parent) => row?.data[parent] !== parents[parent])
  if (row === undefined || hasOtherParent) throw problem('not_found', resource.name, id)
  return row
}

/** The parent resource of a path parameter, taken from the declaration of the field of that name. */
function parentOf(resource: Resource, name: string): Resource {
  const { 'x-refers-to': prefixes } = resource.fields[name]!.value.written as { 'x-refers-to'?: string[] }
  return resourceOfPrefix(prefixes![0]!)!
}

/** A missing parent in the path is a 404, not an invalid reference (decision 4). */
async function requireParents(resource: Resource, call: ApiCall, parents: Parents): Promise<void> {
  for (const name of resource.parents) await find(parentOf(resource, name), call, parents[name] ?? '', {})
}

export async function create(
  hooks: ResourceHooks,
  call: ApiCall,
  body: Body,
  parents: Parents,
): Promise<Body> {
  const { resource } = hooks
  await requireParents(resource, call, parents)
  const id = newId(resource.prefix, call.clock.now())
  const context: WriteContext = { ...call, id, existing: undefined, body }
  let record: Body = resource.parseCreate({ ...body, ...parents })
  resource.verify(record)

  const preparation = await hooks.prepare?.(record, context)
  record = {
    ...(preparation?.record ?? record),
    managed_name: call.managedName ?? null,
    ...call.dialect.storedBeside('create', resource.kind, body),
  }
  const row = await call.store
    .write(authorOf(call), async (tx) => {
      await requireGuardRole(record, { ...context, tx })
      if (hooks.commit !== undefined) record = await hooks.commit(record, { ...context, tx })
      const created = await tx.insert(draftOf(resource, context.id, call.principal.accountId, record))
      await tx.audit(auditEntry(call, context.id))
      return created
    })
    .catch((error) => rethrowAsProblem(resource, record, call, error))
  await hooks.afterCreate?.(row, call)
  return render(hooks, row, call, preparation?.reveal)
}

/** Rewrites a row: `change` maps the stored record to the new one. */
export async function rewrite(
  hooks: ResourceHooks,
  call: ApiCall,
  id: string,
  parents: Parents,
  change: (record: Body) => Body,
  body: Body = {},
): Promise<Row> {
  const { resource } = hooks
  const existing = await find(resource, call, id, parents)
  const context: WriteContext = { ...call, id, existing, body }
  let record = change(recordOf(existing))
  resource.verify(record)
  const preparation = await hooks.prepare?.(record, context)
  record = preparation?.record ?? record

  const row = await call.store
    .write(
      authorOf(call),
      async (tx) => {
        // Of two concurrent updates the second starts over from the result of the first.
        const current = await find(resource, call, id, parents, { get: tx.getForUpdate })
        if (current.revision !== existing.revision) throw new WriteConflict()
        await requireGuardRole(current.data, { ...context, tx })
        if (hooks.commit !== undefined) record = await hooks.commit(record, { ...context, tx })
        const draft = draftOf(resource, id, call.principal.accountId, record)
        const updated = await tx.update(draft)
        await tx.audit(auditEntry(call, id, changesBetween(resource, current, draft)))
        return updated
      },
      { forUpdate: { account: call.principal.accountId, kind: resource.kind, id } },
    )
    .catch((error) => {
      if (error instanceof WriteConflict) return undefined
      return rethrowAsProblem(resource, record, call, error)
    })
  if (row === undefined) return rewrite(hooks, call, id, parents, change, body)
  hooks.afterChange?.(id, call)
  return row
}

class WriteConflict extends Error {}

export async function update(
  hooks: ResourceHooks,
  call: ApiCall,
  id: string,
  parents: Parents,
  body: Body,
): Promise<Body> {
  const { resource } = hooks
  const change = (record: Body) => ({
    ...record,
    ...resource.parseUpdate(withStoredSecrets(body, record, resource.revealed), record),
    ...call.dialect.storedBeside('update', resource.kind, body),
  })
  const row = await rewrite(hooks, call, id, parents, change, body)
  return render(hooks, row, call)
}

export async function get(hooks: ResourceHooks, call: ApiCall, id: string, parents: Parents): Promise<Body> {
  const { resource } = hooks
  const onlineItems = (await hooks.onlineItems?.(call, { from: id, limit: 1 })) ?? []
  const online = onlineItems.find((item) => item.id === id)
  if (online !== undefined) return resource.render({}, online, call.renderContext)
  const row = await find(resource, call, id, parents, readerOf(hooks, call))
  return hooks.view === undefined ? renderRow(hooks, row, call) : render(hooks, row, call)
}

/** `part` is a list at another path that has some of the items. */
export function list(
  hooks: ResourceHooks,
  call: ApiCall,
  page: PageRequest,
  part: Partial<Pick<ListDescription, 'path' | 'includes'>> = {},
): Promise<Body> {
  const { resource } = hooks
  const description = { ...resource, itemSchema: resource.viewSchema, ...part }
  return listPage(description, call, page, async (before, limit) => {
    const reader = readerOf(hooks, call)
    const rows = await reader.list(resource.kind, call.principal.accountId, { limit, before })
    const items =
      hooks.view === undefined
        ? rows.map((row) => renderRow(hooks, row, call))
        : await Promise.all(rows.map((row) => render(hooks, row, call)))
    if (hooks.onlineItems === undefined) return items
    // One more than asked for: the cursor itself.
    const onlineItems = await hooks.onlineItems(call, { from: before, limit: limit + 1 })
    const rendered = onlineItems.map((item) => resource.render({}, item, call.renderContext))
    return newestFirst([...items, ...rendered], before).slice(0, limit)
  })
}

/** Objects that are online can be read while the database is unreachable, and those beside them as well. */
function readerOf({ onlineItems }: ResourceHooks, { store }: ApiCall): Pick<Transaction, 'get' | 'list'> {
  return onlineItems === undefined ? store : store.fallbackReader
}

/** The items that are older than `before`, newest first. */
export function newestFirst(items: readonly Body[], before: string | undefined): Body[] {
  return items
    .filter((item) => before === undefined || String(item.id) < before)
    .toSorted((one, other) => (String(one.id) < String(other.id) ? 1 : -1))
}

export async function remove(
  hooks: ResourceHooks,
  call: ApiCall,
  id: string,
  parents: Parents,
): Promise<void> {
  const { resource } = hooks
  await call.store
    .write(authorOf(call), async (tx) => {
      const row = await find(resource, call, id, parents, tx)
      await requireGuardRole(row.data, { ...call, tx })
      await hooks.beforeRemove?.(row, { ...call, tx })
      await tx.remove(resource.kind, call.principal.accountId, id)
      await tx.audit(auditEntry(call, id, changesBetween(resource, row, undefined)))
    })
    .catch((error) => {
      if (!(error instanceof StillReferenced)) throw error
      const referrer = resourceOfPrefix(prefixOf(error.referrer.id) ?? '')
      throw problem(
        'in_use',
        resource.name,
        id,
        `the ${referrer?.name ?? 'object'} ${error.referrer.id} (${error.referrer.field})`,
      )
    })
  hooks.afterChange?.(id, call)
}

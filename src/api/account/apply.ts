import type { FastifyError } from 'fastify'
import { managedClaim, type ResourceKind } from '../../resources/index.ts'
import { claimOf } from '../../store/index.ts'
import type { ApiCall } from '../call.ts'
import { create, type ResourceHooks, remove, rewrite } from '../crud/crud.ts'
import { type ApiOperation, operation } from '../crud/operations.ts'
import { toProblem } from '../error-mapping.ts'
import type { Problem } from '../problems.ts'
import { hooksOf } from '../resources/resource-hooks.ts'
import { roleProblem } from '../roles.ts'
import { type ApiRoute, resourceRoutes } from '../routes.ts'
import type { AccountDocument } from './document.ts'
import {
  allFields,
  desiredRecord,
  differences,
  type FieldDifference,
  requestBody,
  uniqueKeys,
  unlisted,
} from './plan.ts'
import { type Entry, orderedBatches } from './references.ts'
import { accountRoutes } from './routes.ts'
import { AccountState, completeRecord, type NamedRow } from './state.ts'

type Action = 'create' | 'update' | 'delete'

/** One change of a report. */
interface AccountChange {
  readonly action: Action
  readonly status: 'planned' | 'done' | 'failed'
  readonly kind: string
  readonly name: string
  readonly id: string | null
  readonly fields: readonly FieldDifference[]
  /** Tokens of new credentials; no later response shows them. */
  readonly shown_once: Readonly<Record<string, unknown>>
  readonly error: { error_code: string; msg: string; field: string | null } | null
}

/**
 * Makes the account match a document. Each resource is changed by the code of its own operation, in a transaction of its
 * own, so that roles, rules, audit and events are the same, and an interrupted run can be repeated.
 */
class Application {
  readonly #call: ApiCall
  readonly #state: AccountState
  readonly #isDryRun: boolean
  readonly #changes: AccountChange[] = []
  /** The places of entries that were not created. */
  readonly #failed = new Set<string>()
  /** What earlier documents held and this one does not, by its unique names. */
  readonly #formerHolders = new Map<string, NamedRow>()
  readonly #renamed = new Set<NamedRow>()
  #unchanged = 0
  #assumedIds = 0

  constructor(call: ApiCall, state: AccountState, isDryRun: boolean) {
    this.#call = call
    this.#state = state
    this.#isDryRun = isDryRun
  }

  async run(document: AccountDocument, prune: boolean) {
    const batches = orderedBatches(document, this.#state)
    const absent = unlisted(this.#state, batches.flat())
    for (const named of absent)
      for (const key of uniqueKeys(named.resource, completeRecord(named.resource, named.row)))
        this.#formerHolders.set(key, named)
    for (const batch of batches) this.#record(await Promise.all(batch.map((entry) => this.#write(entry))))
    const removable = prune ? absent.filter((named) => !this.#renamed.has(named)) : []
    for (const named of removable) this.#record([await this.#remove(named)])
    return this.#report()
  }

  #record(changes: readonly (AccountChange | undefined)[]): void {
    this.#changes.push(...changes.filter((change) => change !== undefined))
  }

  #report() {
    const count = (action: Action) =>
      this.#changes.filter((change) => change.action === action && change.status !== 'failed').length
    return {
      dry_run: this.#isDryRun,
      created: count('create'),
      updated: count('update'),
      deleted: count('delete'),
      unchanged: this.#unchanged,
      failed: this.#changes.filter(({ status }) => status === 'failed').length,
      changes: this.#changes,
    }
  }

  async #write(entry: Entry): Promise<AccountChange | undefined> {
    const existing = this.#state.find(entry.resource.kind, entry.name) ?? this.#takeFormer(entry)
    if (existing !== undefined) return this.#update(entry, existing)
    const change = await this.#create(entry)
    const concurrent = change?.status === 'failed' ? await this.#findConcurrent(entry) : undefined
    return concurrent === undefined ? change : this.#update(entry, concurrent)
  }

  /** What another run has created for the entry since this one has read the account. */
  async #findConcurrent({ resource, name }: Entry): Promise<NamedRow | undefined> {
    const { store, principal } = this.#call
    const claim = claimOf(managedClaim(resource, name), principal.accountId)
    const holder = await store.holder(claim.scope, claim.name)
    const row = holder && (await store.get(resource.kind, principal.accountId, holder.id))
    if (row === undefined) return undefined
    this.#failed.delete(`${resource.kind}.${name}`)
    this.#state.register(resource.kind, name, row.id, row.data.addr)
    return { resource, name, row, isManaged: true }
  }

  /** The resource that a document held under another name: it has a unique name of the entry, such as its domain. */
  #takeFormer(entry: Entry): NamedRow | undefined {
    const { resource, name } = entry
    let former: NamedRow | undefined
    try {
      const body = requestBody(entry, this.#state, this.#failed)
      const keys = uniqueKeys(resource, { ...body, ...resource.parseCreate(body) })
      former = keys.map((key) => this.#formerHolders.get(key)).find((named) => named !== undefined)
      if (former === undefined || this.#renamed.has(former)) return undefined
      desiredRecord(resource, body, completeRecord(resource, former.row), this.#state)
    } catch {
      // It cannot become the entry; the creation reports why.
      return undefined
    }
    this.#renamed.add(former)
    this.#state.register(resource.kind, name, former.row.id, former.row.data.addr)
    return former
  }

  #create(entry: Entry): Promise<AccountChange | undefined> {
    const { resource, name, fields } = entry
    const hooks = hooksOf(resource.kind as ResourceKind)
    return this.#attempt('create', entry, null, async () => {
      const body = requestBody(entry, this.#state, this.#failed)
      const call = this.#callFor(resourceRoutes(resource).create, name)
      const differences = allFields(resource, fields, 'create')
      if (this.#isDryRun) {
        resource.verify(resource.parseCreate(body))
        this.#state.register(resource.kind, name, this.#assumedId(resource.prefix), ASSUMED_ADDRESS)
        return { fields: differences }
      }
      const created = await create(hooks, call, body, parentsOf(hooks, body))
      this.#state.register(resource.kind, name, String(created.id), created.addr)
      const secretFields = Object.entries(resource.fields).filter(([, { access }]) => access === 'shownOnce')
      return {
        id: String(created.id),
        fields: differences,
        shown_once: Object.fromEntries(secretFields.map(([field]) => [field, created[field]])),
      }
    })
  }

  #update(entry: Entry, existing: NamedRow): Promise<AccountChange | undefined> {
    const { resource, name } = entry
    const { row } = existing
    const hasName = existing.isManaged && existing.name === name
    const hooks = hooksOf(resource.kind as ResourceKind)
    return this.#attempt('update', entry, row.id, async () => {
      const body = requestBody(entry, this.#state, this.#failed)
      const desired = (record: Record<string, unknown>) => desiredRecord(resource, body, record, this.#state)
      const fields = differences(existing, desired(completeRecord(resource, row)), this.#state)
      if (fields.length === 0) this.#unchanged += 1
      // A resource that the document has not held under this name so far gets it, even if nothing else changes.
      if (!this.#isDryRun && (fields.length > 0 || !hasName)) {
        const change = (record: Record<string, unknown>) => ({ ...desired(record), managed_name: name })
        const call = this.#callFor(resourceRoutes(resource).update)
        await rewrite(hooks, call, row.id, parentsOf(hooks, row.data), change, body)
      } else if (fields.length > 0) this.#callFor(resourceRoutes(resource).update)
      return fields.length === 0 ? undefined : { fields }
    })
  }

  #remove(named: NamedRow): Promise<AccountChange | undefined> {
    const { resource, row } = named
    const hooks = hooksOf(resource.kind as ResourceKind)
    return this.#attempt('delete', named, row.id, async () => {
      const call = this.#callFor(resourceRoutes(resource).delete)
      const fields = allFields(resource, this.#state.fieldsOf(named), 'delete')
      if (!this.#isDryRun) await remove(hooks, call, row.id, parentsOf(hooks, row.data))
      return { fields }
    })
  }

  /** Runs one change and reports its outcome; a rejection does not keep the others from being made. */
  async #attempt(
    action: Action,
    { resource, name }: Pick<NamedRow, 'resource' | 'name'>,
    id: string | null,
    work: () => Promise<Partial<AccountChange> | undefined>,
  ): Promise<AccountChange | undefined> {
    const change = { action, kind: resource.kind, name, id, fields: [], shown_once: {}, error: null }
    try {
      const outcome = await work()
      return outcome && { ...change, status: this.#isDryRun ? 'planned' : 'done', ...outcome }
    } catch (error) {
      const rejection = toProblem(error as FastifyError, undefined, 0)
      if (rejection === undefined || rejection.status >= 500) throw error
      if (action === 'create') this.#failed.add(`${resource.kind}.${name}`)
      return { ...change, status: 'failed', error: describe(rejection) }
    }
  }

  /** The call of one operation, if the caller's role allows it. */
  #callFor(operation: ApiRoute, managedName?: string): ApiCall {
    const denied = roleProblem(this.#call.principal, operation)
    if (denied !== undefined) throw denied
    return { ...this.#call, operation, ...(managedName !== undefined && { managedName }) }
  }

  /** Stands for the id of a resource that a dry run does not create. */
  #assumedId(prefix: string): string {
    this.#assumedIds += 1
    return `${prefix}_${String(this.#assumedIds).padStart(27, '0')}`
  }
}

/** Stands for the address that a reservation is going to get. */
const ASSUMED_ADDRESS = 'address.invalid:1'

function describe({ code, message, details }: Problem) {
  return { error_code: `ERR_ADIT_${code}`, msg: message, field: details.field ?? null }
}

function parentsOf(
  { resource }: ResourceHooks,
  record: Readonly<Record<string, unknown>>,
): Record<string, string> {
  return Object.fromEntries(resource.parents.map((parent) => [parent, String(record[parent] ?? '')]))
}

/** Documents of whole accounts. */
export const accountOperations: ApiOperation[] = [
  operation(accountRoutes.apply, async (call, { body }) => {
    const { dry_run: isDryRun = false, prune = false, ...document } = body
    const state = await AccountState.load(call)
    return new Application(call, state, isDryRun === true).run(document as AccountDocument, prune === true)
  }),
  operation(accountRoutes.export, async (call) => {
    const { document, omittedSecrets } = (await AccountState.load(call)).export()
    return { document, omitted_secrets: omittedSecrets }
  }),
]

import type { ResourceKind, resources, StoredRecord } from '../resources/index.ts'
import type { NameListener, NameSpans, NameUseQuery } from './name-claim-rules.ts'

/** The record of a kind: that of its resource, or for other kinds whatever their owner stores. */
export type RecordOfKind<K extends string> = K extends ResourceKind
  ? StoredRecord<(typeof resources)[K]>
  : Record<string, unknown>

/** One stored resource. Of several kinds, `kind` tells which. */
export type Row<K extends string = string> = K extends string ? RowOfKind<K> : never

interface RowOfKind<K extends string> {
  readonly kind: K
  readonly id: string
  readonly account: string
  /** The store's revision at which this row was last written. */
  readonly revision: number
  /** Milliseconds since 1970; never changes. */
  readonly createdAt: number
  /** The record without its secrets, which are null here whatever their type. */
  readonly data: Readonly<RecordOfKind<K>>
  /** Sealed at rest. Decrypted on first access; throws `UnsealError` if the stored value was tampered with. */
  readonly secrets: Readonly<Record<string, string>> | undefined
}

/** A unique name a row holds, such as a domain; unique within its scope over all accounts. */
export interface Claim {
  readonly scope: string
  readonly name: string
}

/** A row this row points at. `cascade`: deleted together with its target; `restrict`: keeps the target from being deleted. */
export interface Reference {
  readonly field: string
  readonly target: string
  readonly onDelete: 'restrict' | 'cascade'
}

/** A row to write, with the claims and references that change with it in the same transaction. */
export interface Draft {
  readonly kind: string
  readonly id: string
  readonly account: string
  readonly data: Readonly<Record<string, unknown>>
  readonly secrets?: Readonly<Record<string, string>> | undefined
  readonly claims: readonly Claim[]
  readonly references: readonly Reference[]
}

/** An entry of the audit log: one for each mutating call. */
export interface AuditEntry {
  readonly account: string
  /** The acting user or bot; undefined for commands of the operator. */
  readonly principal: string | undefined
  /** The API key or other credential that authenticated the principal. */
  readonly credential: string | undefined
  readonly source: string | undefined
  readonly requestId: string
  /** Such as `create`, `update`, `delete`, `replace_module`, `restart`. */
  readonly action: string
  readonly kind: string
  readonly object: string | undefined
  readonly outcome: 'done' | 'refused'
  /** A short reason for a rejected call; the origin of a call made without an API key. */
  readonly detail?: string | undefined
  /** What an update changed, or a deletion removed. */
  readonly changes?: readonly FieldChange[] | undefined
}

/** The old and new value of a field in the audit log. A secret has no values. */
export interface FieldChange {
  /** A dotted path, such as `oidc.issuer`. */
  readonly field: string
  readonly old?: unknown
  readonly new?: unknown
  readonly secret?: true
}

/** A stored audit entry: numbered, timestamped and chained by digest to its predecessor, so that tampering shows. */
export interface AuditRecord extends AuditEntry {
  readonly id: string
  readonly time: number
  readonly hash: string
}

/** One committed change. `data` is the row after it (before it, for a deletion), without secrets. */
export interface Change {
  readonly revision: number
  readonly committedAt: number
  readonly account: string
  readonly kind: string
  readonly id: string
  readonly op: 'created' | 'updated' | 'deleted'
  readonly data: Readonly<Record<string, unknown>>
  readonly createdAt: number
  readonly principal: string | undefined
  readonly credential: string | undefined
}

/** Reads in the snapshot of one transaction or of the latest commit. */
export interface Reader {
  get<K extends string>(kind: K, account: string, id: string): Promise<Row<K> | undefined>
  /** Newest first: ids below `before`, up to `limit`. */
  list<K extends string>(
    kind: K,
    account: string,
    page: { limit: number; before?: string | undefined },
  ): Promise<Row<K>[]>
  /** The row that holds a unique name. */
  holder(scope: string, name: string): Promise<{ account: string; kind: string; id: string } | undefined>
  /** The rows that hold any of these names, by name. */
  holders(
    scope: string,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, { account: string; kind: string; id: string }>>
  /** The rows that hold names with this prefix, in ascending order of name. */
  holdersWithPrefix(
    scope: string,
    prefix: string,
    limit: number,
  ): Promise<{ account: string; kind: string; id: string }[]>
  /** Rows that reference this id, oldest first, up to `limit`. */
  referrers(
    id: string,
    limit: number,
  ): Promise<{ account: string; kind: string; id: string; field: string; onDelete: 'restrict' | 'cascade' }[]>
}

/** An atomic transaction. */
export interface Transaction extends Reader {
  /** Reads a row that is to be updated, and at the same time what its update needs. */
  readonly getForUpdate: Reader['get']
  /** Throws `NameTaken` when another row holds a claim, `NoSuchTarget` when a referenced row is not in the same account. */
  insert(draft: Draft): Promise<Row>
  /** Replaces data, secrets, claims and references of an existing row. */
  update(draft: Draft): Promise<Row>
  /** Deletes a row after its cascading referrers; false when it does not exist. Throws `StillReferenced` while a `restrict` reference points to it. */
  remove(kind: string, account: string, id: string): Promise<boolean>
  /** Adds the audit record of the call; every write transaction has exactly one. */
  audit(entry: AuditEntry): Promise<void>
  /** The names that a tunnel of another account uses, or used so recently that they are still in cooldown. */
  namesUsedByOthers(account: string, query: NameUseQuery, spans: NameSpans): Promise<string[]>
  /** Starts the cooldown of a name whose reservation was deleted. */
  releaseName(account: string, released: { name: string; listener: NameListener; id: string }): Promise<void>
  /** Throws `LeaseLost` unless the lease is still held under this fence: a stalled worker cannot write late. */
  requireLease(lease: { readonly name: string; readonly fence: number }): Promise<void>
}

/** The current row after a change, if it was not deleted. */
export type RowChange<K extends string = string> = K extends string
  ? { readonly kind: K; readonly id: string; readonly row: Row<K> | undefined; readonly revision: number }
  : never

/** Receives all rows first, then each change; all rows again after falling too far behind. */
export interface Follower<K extends string = string> {
  reset(rows: readonly Row<K>[], revision: number): void
  /** In order of revision. */
  change(changes: readonly RowChange<K>[]): void
}

/** A follower that receives all rows in pages: a million of them are never in memory besides what it makes of them. */
export interface PagedFollower<K extends string = string> {
  /** Kinds with many rows, of which it needs no more than who owns them. */
  readonly ownersOf?: ReadonlySet<string>
  /** Begins to receive all rows. They replace earlier ones when they are complete, which they may never be. */
  load(): RowLoad<K>
  /** In order of revision. */
  change(changes: readonly RowChange<K>[]): void
}

/** Receives all rows, then what changed while they were read, and the revision that they have then. */
export interface RowLoad<K extends string = string> {
  /** Absent if only later changes matter: then nothing is read. */
  put?(changes: readonly RowChange<K>[]): void
  /** Rows of the kinds in `ownersOf`. */
  putOwners?(kind: string, owners: readonly RowOwner[]): void
  complete(revision: number): void
}

/** What identifies a row. */
export interface RowKey {
  readonly account: string
  readonly kind: string
  readonly id: string
}

/** The account of a row. */
export interface RowOwner {
  readonly id: string
  readonly account: string
}

/** A lease held by one process at a time. `fence` grows with each acquisition, so that a stale holder is rejected. */
export interface Lease {
  readonly name: string
  readonly fence: number
  /** Extends the lease; false when it was lost. Time is the database's (P54). */
  renew(): Promise<boolean>
  release(): Promise<void>
}

/** How a setting is written. */
export interface SettingOptions {
  /** Seals the value. */
  readonly secret?: boolean
  /** Leaves a value that is there: of several processes that write at once, the first decides. */
  readonly ifAbsent?: boolean
}

/** All durable state, on either engine. */
export interface Store extends Reader {
  /**
   * Runs `work` in one durable transaction. `author` is recorded in the change entries. Work that begins with `getForUpdate`
   * says of which row, which saves a round trip.
   */
  write<T>(
    author: { principal?: string | undefined; credential?: string | undefined },
    work: (tx: Transaction) => Promise<T>,
    options?: { readonly forUpdate?: RowKey },
  ): Promise<T>
  /**
   * Follows the rows of these kinds in all accounts. Resolves once all rows have been received, from the fallback copy while
   * the database is unavailable.
   */
  follow<K extends string>(
    kinds: readonly K[],
    follower: Follower<K> | PagedFollower<K>,
  ): Promise<{ stop(): void }>
  /**
   * The same reads, answered by the fallback copy while the database is unavailable. The copy may lack the most recent
   * changes (P8).
   */
  readonly fallbackReader: Reader & Pick<Store, 'scan'>
  /** All rows of a kind in all accounts, in ascending order of id: for background jobs, not for requests. */
  scan<K extends string>(kind: K, page: { limit: number; after?: string | undefined }): Promise<Row<K>[]>
  /** Committed changes above a revision, oldest first: the outbox of resource events. */
  changes(page: { after: number; limit: number }): Promise<Change[]>
  /** Deletes changes up to a revision. */
  pruneChanges(upTo: number): Promise<void>
  auditLog(account: string, page: { limit: number; before?: string | undefined }): Promise<AuditRecord[]>
  /** Verifies the audit chain of an account; returns the id of the first record that does not match, if any. */
  verifyAudit(account: string): Promise<string | undefined>
  /** Small durable values of the platform (cursors, host keys); sealed when `secret`. */
  setting(key: string): Promise<string | undefined>
  putSetting(key: string, value: string, options?: SettingOptions): Promise<void>
  /** Deletes the settings whose names begin with `prefix`, except one. */
  deleteSettings(prefix: string, except: string): Promise<void>
  lease(name: string, holder: string, ttlMs: number): Promise<Lease | undefined>
  revision(): Promise<number>
  /** Readiness check: throws when the database cannot be read. */
  check(): Promise<void>
  close(): Promise<void>
}

/** Another row holds the name. */
export class NameTaken extends Error {
  override name = 'NameTaken'
  readonly claim: Claim
  readonly holder: { account: string; kind: string; id: string }

  constructor(claim: Claim, holder: { account: string; kind: string; id: string }) {
    super(`${claim.scope} ${claim.name} is held by ${holder.id}`)
    this.claim = claim
    this.holder = holder
  }
}

/** The target of a reference does not exist in the account. */
export class NoSuchTarget extends Error {
  override name = 'NoSuchTarget'
  readonly reference: Reference

  constructor(reference: Reference) {
    super(`${reference.field} names ${reference.target}, which does not exist`)
    this.reference = reference
  }
}

/** The row to update does not exist. */
export class NoSuchRow extends Error {
  override name = 'NoSuchRow'

  constructor(kind: string, id: string) {
    super(`there is no ${kind} with the id ${id}`)
  }
}

/** The lease has expired or has another holder. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'

  constructor(lease: string) {
    super(`the lease ${lease} is no longer held`)
  }
}

/** Another row still references the row to delete. */
export class StillReferenced extends Error {
  override name = 'StillReferenced'
  readonly referrer: { kind: string; id: string; field: string }

  constructor(id: string, referrer: { kind: string; id: string; field: string }) {
    super(`${id} is still used by ${referrer.id}`)
    this.referrer = referrer
  }
}

/** The database is unreachable or could not make the write durable; nothing changed. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
}

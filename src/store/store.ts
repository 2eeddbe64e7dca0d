import type { NameListener, NameSpans } from './name-claim-rules.ts'
import type { NameUseQuery } from './name-claims.ts'

/** One stored resource. `data` is its record without secrets; `secrets` is what the store keeps sealed at rest. */
export interface Row {
  readonly kind: string
  readonly id: string
  readonly account: string
  /** The store's revision at which this row was last written. */
  readonly revision: number
  /** Milliseconds since 1970; never changes. */
  readonly createdAt: number
  readonly data: Readonly<Record<string, unknown>>
  /** Opened when first looked at, which throws `SealBroken` if what is stored was tampered with. */
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

/** What is written for a row: everything the store keeps in step with it, in one transaction. */
export interface Draft {
  readonly kind: string
  readonly id: string
  readonly account: string
  readonly data: Readonly<Record<string, unknown>>
  readonly secrets?: Readonly<Record<string, string>> | undefined
  readonly claims: readonly Claim[]
  readonly references: readonly Reference[]
}

/** Who changed what, for the audit log: one record for each mutating call. */
export interface AuditEntry {
  readonly account: string
  /** User or bot acting, undefined for the operator's own commands. */
  readonly principal: string | undefined
  /** The API key or other credential that proved it. */
  readonly credential: string | undefined
  readonly source: string | undefined
  readonly requestId: string
  /** Such as `create`, `update`, `delete`, `replace_module`, `restart`. */
  readonly action: string
  readonly kind: string
  readonly object: string | undefined
  readonly outcome: 'done' | 'refused'
  /** A short reason when refused; where it was done when not by a call with an API key. */
  readonly detail?: string | undefined
}

/** An audit entry as kept: numbered, timed and chained by digest to the one before it, so that tampering shows. */
export interface AuditRecord extends AuditEntry {
  readonly id: string
  readonly at: number
  readonly hash: string
}

/** One committed change. `row` is the row after it (before it, for a deletion), as it was at that moment and without secrets. */
export interface Change {
  readonly revision: number
  readonly at: number
  readonly account: string
  readonly kind: string
  readonly id: string
  readonly op: 'created' | 'updated' | 'deleted'
  readonly data: Readonly<Record<string, unknown>>
  readonly createdAt: number
  readonly principal: string | undefined
  readonly credential: string | undefined
}

/** Reads, in the view of one transaction or of the latest commit. */
export interface Reader {
  get(kind: string, account: string, id: string): Promise<Row | undefined>
  /** Newest first: ids below `before`, at most `limit`. */
  list(kind: string, account: string, page: { limit: number; before?: string | undefined }): Promise<Row[]>
  /** Whoever holds a unique name. */
  holder(scope: string, name: string): Promise<{ account: string; kind: string; id: string } | undefined>
  /** Whoever holds names that start with this prefix, by name upwards. */
  holdersBelow(
    scope: string,
    prefix: string,
    limit: number,
  ): Promise<{ account: string; kind: string; id: string }[]>
  /** Rows that point at this id, oldest first, at most `limit`. */
  referrers(
    id: string,
    limit: number,
  ): Promise<{ account: string; kind: string; id: string; field: string; onDelete: 'restrict' | 'cascade' }[]>
}

/** A transaction: all of it commits, or none. */
export interface Transaction extends Reader {
  /** Throws `NameTaken` when a claim is held by another row, `NoSuchTarget` when a referenced row is not in the same account. */
  insert(draft: Draft): Promise<Row>
  /** Replaces data, secrets, claims and references of an existing row. */
  update(draft: Draft): Promise<Row>
  /** Throws `StillReferenced` while a `restrict` reference points here; deletes cascading referrers first. False when there was no such row. */
  remove(kind: string, account: string, id: string): Promise<boolean>
  /** Adds the call's audit record; every write transaction makes exactly one. */
  audit(entry: AuditEntry): Promise<void>
  /** Those of these names that a tunnel of another account has, or had so lately that they are still out of reach. */
  namesUsedByOthers(account: string, query: NameUseQuery, spans: NameSpans): Promise<string[]>
  /** Keeps a name that a deleted reservation held out of reach of other accounts from now on. */
  releaseName(account: string, released: { name: string; listener: NameListener; id: string }): Promise<void>
  /** Throws `LeaseLost` unless the lease is still held under this fence: keeps a worker that slept from writing late. */
  requireLease(lease: { readonly name: string; readonly fence: number }): Promise<void>
}

/** What a follower is given: first everything, then each change; again everything if it fell too far behind. */
export interface Follower {
  reset(rows: readonly Row[], revision: number): void
  /** Rows as they are now; `undefined` row means deleted. In order of revision. */
  change(changes: readonly { kind: string; id: string; row: Row | undefined; revision: number }[]): void
}

/** A lease held by one process at a time; `fence` grows with each new holder, so that a late writer can be refused. */
export interface Lease {
  readonly name: string
  readonly fence: number
  /** Extends the lease; false when it was lost. Judged by the database's clock. */
  renew(): Promise<boolean>
  release(): Promise<void>
}

/** All durable state, on either engine. */
export interface Store extends Reader {
  /** Runs `work` in one durable transaction. `author` names who acts, for the change entries. */
  write<T>(
    author: { principal?: string | undefined; credential?: string | undefined },
    work: (tx: Transaction) => Promise<T>,
  ): Promise<T>
  /**
   * Follows the rows of these kinds, of all accounts. Resolves once `reset` has been called; while the database is away
   * that is with what was last known of it.
   */
  follow(kinds: readonly string[], follower: Follower): Promise<{ stop(): void }>
  /**
   * The same reads for whoever has to go on while the database is away: what it says, or else what was last known of it
   * here, which may lack its very last changes (P8).
   */
  readonly lastKnown: Reader & Pick<Store, 'scan'>
  /** All rows of a kind over all accounts, by id upwards: for background work, not for requests. */
  scan(kind: string, page: { limit: number; after?: string | undefined }): Promise<Row[]>
  /** Committed changes above a revision, oldest first: the outbox of resource events. */
  changes(page: { after: number; limit: number }): Promise<Change[]>
  /** Forgets changes up to a revision that nobody needs any more. */
  pruneChanges(upTo: number): Promise<void>
  auditLog(account: string, page: { limit: number; before?: string | undefined }): Promise<AuditRecord[]>
  /** Checks the audit chain of an account; answers with the id of the first record that does not fit, if any. */
  verifyAudit(account: string): Promise<string | undefined>
  /** Small durable values of the platform itself (cursors, host keys); sealed when `secret`. */
  setting(key: string): Promise<string | undefined>
  putSetting(key: string, value: string, options?: { secret?: boolean }): Promise<void>
  lease(name: string, holder: string, ttlMs: number): Promise<Lease | undefined>
  revision(): Promise<number>
  /** Answers, or throws why not: for readiness. */
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

/** A reference points at nothing in this account. */
export class NoSuchTarget extends Error {
  override name = 'NoSuchTarget'
  readonly reference: Reference

  constructor(reference: Reference) {
    super(`${reference.field} names ${reference.target}, which does not exist`)
    this.reference = reference
  }
}

/** The row that was to be updated is not there. */
export class NoSuchRow extends Error {
  override name = 'NoSuchRow'

  constructor(kind: string, id: string) {
    super(`there is no ${kind} with the id ${id}`)
  }
}

/** The lease has run out or belongs to another holder by now. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'

  constructor(lease: string) {
    super(`the lease ${lease} is no longer held`)
  }
}

/** Something still points at the row that was to be deleted. */
export class StillReferenced extends Error {
  override name = 'StillReferenced'
  readonly by: { kind: string; id: string; field: string }

  constructor(id: string, referrer: { kind: string; id: string; field: string }) {
    super(`${id} is still used by ${referrer.id}`)
    this.by = referrer
  }
}

/** The database could not make the write durable, or cannot be reached; nothing was changed. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
}

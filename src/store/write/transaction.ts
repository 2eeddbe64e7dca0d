import { failpoint } from '../../base/process/failpoint.ts'
import type { CommittedRow, PendingChange } from '../engine/changes.ts'
import {
  type Dialect,
  leaveToCommit,
  type Sql,
  type SqlChange,
  type SqlRecord,
  type SqlValue,
  type Statement,
} from '../engine/sql.ts'
import type { NameListener, NameSpans, NameUseQuery } from '../name-claim-rules.ts'
import type { Sealer } from '../seal/sealer.ts'
import {
  type AuditEntry,
  type AuditRecord,
  type Change,
  type Claim,
  type Draft,
  NameTaken,
  NoSuchRow,
  NoSuchTarget,
  type Reader,
  type Reference,
  type Row,
  type RowKey,
  StillReferenced,
  type Transaction,
} from '../store.ts'
import { type ChainHead, nextRecord, READ_CHAIN_HEAD, readChainHead } from './audit.ts'
import { requireLease } from './leases.ts'
import { namesUsedByOthers, releaseName } from './name-use.ts'
import { createReader, GET_ROW } from './reader.ts'
import { ROW_COLUMNS, secretsSealContext, toReferrer } from './rows.ts'

const CLAIMS_OF = 'SELECT scope, name FROM claims WHERE id = ?'
const REFERENCES_OF = 'SELECT field, target, on_delete FROM refs WHERE id = ?'

/** What `getForUpdate` reads. */
export function readsForUpdate({ account, kind, id }: RowKey): Statement[] {
  return [
    [GET_ROW, account, kind, id],
    [CLAIMS_OF, id],
    [REFERENCES_OF, id],
    [READ_CHAIN_HEAD, account],
  ]
}

/** State shared by the calls of one group commit; each successful call passes it on to the next. */
export interface CommitGroup {
  /** The last revision assigned. */
  revision: number
  /** The number of audit records, including those of this group. */
  auditCount: number
  /** Heads of the audit chains read so far, by account. */
  readonly chains: Map<string, ChainHead | undefined>
  readonly changes: PendingChange[]
  /** The rows that are changed, by id. */
  readonly rows: Map<string, CommittedRow>
  readonly audits: AuditRecord[]
}

export interface TransactionContext {
  readonly sql: Sql
  readonly sealer: Sealer
  readonly auditKey: Buffer
  readonly group: CommitGroup
  readonly now: number
  readonly author: { principal?: string | undefined; credential?: string | undefined }
  readonly dialect: Pick<Dialect, 'unnest' | 'wallClock' | 'leaseClock'>
}

/** What a row holds beside its record. */
interface HeldByRow {
  readonly createdAt: number
  readonly claims: readonly SqlRecord[]
  readonly references: readonly SqlRecord[]
}

/** The writes of one call. Rows are written immediately; changes and the audit record join the group when the call succeeds. */
export class CallTransaction implements Transaction {
  readonly #context: TransactionContext
  readonly #reader: Reader
  #revision: number
  readonly #changes: PendingChange[] = []
  readonly #rows: CommittedRow[] = []
  /** By id, of rows that were read to be updated. */
  readonly #held = new Map<string, HeldByRow>()
  #audit: AuditRecord | undefined

  constructor(context: TransactionContext) {
    this.#context = context
    this.#reader = createReader(context.sql, context.sealer)
    this.#revision = context.group.revision
    this.get = this.#reader.get
    this.list = this.#reader.list
    this.holder = this.#reader.holder
    this.holders = this.#reader.holders
    this.holdersWithPrefix = this.#reader.holdersWithPrefix
    this.referrers = this.#reader.referrers
  }

  readonly get: Reader['get']
  readonly list: Reader['list']
  readonly holder: Reader['holder']
  readonly holders: Reader['holders']
  readonly holdersWithPrefix: Reader['holdersWithPrefix']
  readonly referrers: Reader['referrers']

  async insert(draft: Draft): Promise<Row> {
    const { sql, now } = this.#context
    const claims = uniqueBy(draft.claims, (claim) => JSON.stringify([claim.scope, claim.name]))
    const references = uniqueBy(draft.references, (ref) => JSON.stringify([ref.field, ref.target]))
    await this.#checkTargets(draft, references)
    const sealed = await this.#seal(draft)
    failpoint('store.insert.sealed')
    const data = JSON.stringify(draft.data)
    const revision = this.#revision + 1
    const changes: SqlChange[] = [
      {
        text: `INSERT INTO resources (${ROW_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
        values: [draft.account, draft.kind, draft.id, data, sealed, revision, now],
      },
    ]
    if (references.length > 0) changes.push(referenceRows(draft, references))
    if (claims.length > 0) changes.push(claimRows(draft, claims))
    const counts = await sql.apply(...changes)
    failpoint('store.insert.applied')
    const claimedCount = claims.length > 0 ? counts.at(-1)! : 0
    if (claimedCount < claims.length) {
      // Deleted here too, so that the call can retry with another name.
      await this.#deleteRow(draft)
      await this.#checkClaims(draft, claims)
    }
    this.#recordChange('created', draft, { data, sealed }, now)
    return draftToRow(draft, revision, now)
  }

  readonly getForUpdate: Reader['get'] = async (kind, account, id) => {
    const [row, held] = await Promise.all([
      this.get(kind, account, id),
      this.#readHeld(id),
      this.#readChain(account),
    ])
    if (row !== undefined) this.#held.set(id, { ...held, createdAt: row.createdAt })
    return row
  }

  async update(draft: Draft): Promise<Row> {
    const { sql } = this.#context
    if (!this.#held.has(draft.id)) await this.getForUpdate(draft.kind, draft.account, draft.id)
    const held = this.#held.get(draft.id)
    if (held === undefined) throw new NoSuchRow(draft.kind, draft.id)
    this.#held.delete(draft.id)
    const { createdAt } = held
    const sealed = await this.#seal(draft)
    failpoint('store.update.sealed')
    await this.#replaceClaims(draft, held.claims)
    failpoint('store.update.claimed')
    await this.#replaceReferences(draft, held.references)
    failpoint('store.update.referenced')
    const data = JSON.stringify(draft.data)
    const revision = this.#recordChange('updated', draft, { data, sealed }, createdAt)
    leaveToCommit(
      sql.run(
        'UPDATE resources SET data = ?, sealed = ?, revision = ? WHERE account = ? AND kind = ? AND id = ?',
        data,
        sealed,
        revision,
        draft.account,
        draft.kind,
        draft.id,
      ),
    )
    failpoint('store.update.applied')
    return draftToRow(draft, revision, createdAt)
  }

  async remove(kind: string, account: string, id: string): Promise<boolean> {
    const row = await this.get(kind, account, id)
    if (!row) return false
    // Breadth first, so that the reverse order deletes each referrer before its target.
    const deletions = new Map([[id, { account, kind, id }]])
    const restrictions: { id: string; referrer: ReturnType<typeof toReferrer> }[] = []
    for (const target of deletions.keys()) {
      const referrers = await this.#context.sql.all(
        'SELECT account, kind, id, field, on_delete FROM refs WHERE target = ? ORDER BY id, field',
        target,
      )
      for (const referrer of referrers.map(toReferrer)) {
        if (referrer.onDelete === 'cascade') deletions.set(referrer.id, referrer)
        else restrictions.push({ id: target, referrer })
      }
    }
    for (const { id: target, referrer } of restrictions) {
      if (!deletions.has(referrer.id)) throw new StillReferenced(target, referrer)
    }
    for (const deletion of [...deletions.values()].reverse()) await this.#recordDeletion(deletion)
    failpoint('store.remove.applied')
    return true
  }

  async audit(entry: AuditEntry): Promise<void> {
    if (this.#audit)
      throw new Error('A call makes exactly one audit record, and this one has its record already.')
    const { auditKey, now } = this.#context
    this.#audit = nextRecord(auditKey, await this.#readChain(entry.account), entry, now)
    failpoint('store.audit.recorded')
  }

  namesUsedByOthers(account: string, query: NameUseQuery, spans: NameSpans): Promise<string[]> {
    const { sql, dialect } = this.#context
    return namesUsedByOthers(sql, dialect, account, query, spans)
  }

  releaseName(
    account: string,
    released: { name: string; listener: NameListener; id: string },
  ): Promise<void> {
    return releaseName(this.#context.sql, this.#context.dialect, account, released)
  }

  async requireLease(lease: { name: string; fence: number }): Promise<void> {
    await requireLease(this.#context.sql, this.#context.dialect, lease)
  }

  /** Merges the call into the group; nothing may fail between this and the next call. */
  finish(): void {
    const { group } = this.#context
    if (this.#changes.length > 0 && !this.#audit)
      throw new Error('A call that changes rows must make its audit record.')
    group.revision = this.#revision
    group.changes.push(...this.#changes)
    for (const row of this.#rows) {
      // In the order of their last changes.
      group.rows.delete(row.id)
      group.rows.set(row.id, row)
    }
    if (!this.#audit) return
    group.audits.push(this.#audit)
    group.auditCount += 1
    group.chains.set(this.#audit.account, this.#audit)
    failpoint('store.call.finished')
  }

  /** The head of the audit chain of an account. */
  async #readChain(account: string): Promise<ChainHead | undefined> {
    const { sql, group } = this.#context
    const head = group.chains.get(account) ?? (await readChainHead(sql, account))
    group.chains.set(account, head)
    return head
  }

  async #readHeld(id: string): Promise<Omit<HeldByRow, 'createdAt'>> {
    const { sql } = this.#context
    const [claims, references] = await Promise.all([sql.all(CLAIMS_OF, id), sql.all(REFERENCES_OF, id)])
    return { claims, references }
  }

  #recordChange(
    op: Change['op'],
    row: { account: string; kind: string; id: string },
    { data, sealed = null }: { data: string; sealed?: string | null },
    createdAt: number,
  ): number {
    const { now, author } = this.#context
    this.#revision += 1
    const revision = this.#revision
    const { principal = null, credential = null } = author
    const { account, kind, id } = row
    this.#changes.push([revision, now, account, kind, id, op, data, createdAt, principal, credential])
    const values = op === 'deleted' ? undefined : [account, kind, id, data, sealed, revision, createdAt]
    this.#rows.push({ kind, id, revision, values })
    return revision
  }

  async #seal(draft: Draft): Promise<string | null> {
    if (!draft.secrets || Object.keys(draft.secrets).length === 0) return null
    const { sql, sealer } = this.#context
    return sealer.seal(sql, secretsSealContext(draft), JSON.stringify(draft.secrets))
  }

  async #checkClaims(draft: Draft, claims: readonly Claim[]): Promise<void> {
    const holders = await Promise.all(claims.map((claim) => this.holder(claim.scope, claim.name)))
    for (const [index, holder] of holders.entries()) {
      if (holder && holder.id !== draft.id) throw new NameTaken(claims[index]!, holder)
    }
  }

  async #checkTargets(draft: Draft, references: readonly Reference[]): Promise<void> {
    const targets = references.filter(({ target }) => target !== draft.id)
    if (targets.length === 0) return
    const { sql, dialect } = this.#context
    const rows = await sql.all(
      `SELECT id, account FROM resources WHERE id IN (${dialect.unnest})`,
      JSON.stringify(targets.map(({ target }) => target)),
    )
    const sameAccount = new Set(rows.filter(({ account }) => account === draft.account).map(({ id }) => id))
    for (const reference of targets) if (!sameAccount.has(reference.target)) throw new NoSuchTarget(reference)
  }

  async #replaceClaims(draft: Draft, existing: readonly SqlRecord[]): Promise<void> {
    const { sql } = this.#context
    const key = ({ scope, name }: Claim | SqlRecord) => JSON.stringify([scope, name])
    const desired = new Map(draft.claims.map((claim) => [key(claim), claim]))
    const obsolete: SqlRecord[] = []
    for (const claim of existing) if (!desired.delete(key(claim))) obsolete.push(claim)
    const added = [...desired.values()]
    await this.#checkClaims(draft, added)
    for (const claim of obsolete)
      leaveToCommit(sql.run('DELETE FROM claims WHERE scope = ? AND name = ?', claim.scope!, claim.name!))
    if (added.length > 0) leaveToCommit(sql.apply(claimRows(draft, added)))
  }

  async #replaceReferences(draft: Draft, existing: readonly SqlRecord[]): Promise<void> {
    const { sql } = this.#context
    const key = (...parts: SqlValue[]) => JSON.stringify(parts)
    const desired = new Map(draft.references.map((ref) => [key(ref.field, ref.target, ref.onDelete), ref]))
    const obsolete = existing.filter((ref) => !desired.delete(key(ref.field!, ref.target!, ref.on_delete!)))
    const added = [...desired.values()]
    await this.#checkTargets(draft, added)
    for (const { field, target } of obsolete)
      leaveToCommit(
        sql.run('DELETE FROM refs WHERE id = ? AND field = ? AND target = ?', draft.id, field!, target!),
      )
    if (added.length > 0) leaveToCommit(sql.apply(referenceRows(draft, added)))
  }

  async #recordDeletion({ account, kind, id }: { account: string; kind: string; id: string }): Promise<void> {
    const { sql } = this.#context
    const record = await sql.get(
      `SELECT data, created_at FROM resources WHERE account = ? AND kind = ? AND id = ?`,
      account,
      kind,
      id,
    )
    if (!record) return
    const createdAt = record.created_at as number
    this.#recordChange('deleted', { account, kind, id }, { data: record.data as string }, createdAt)
    await this.#deleteRow({ account, kind, id })
  }

  async #deleteRow({ account, kind, id }: { account: string; kind: string; id: string }): Promise<void> {
    await this.#context.sql.apply(
      { text: 'DELETE FROM claims WHERE id = ?', values: [id] },
      { text: 'DELETE FROM refs WHERE id = ?', values: [id] },
      {
        text: 'DELETE FROM resources WHERE account = ? AND kind = ? AND id = ?',
        values: [account, kind, id],
      },
    )
  }
}

function claimRows({ account, kind, id }: Draft, claims: readonly Claim[]): SqlChange {
  return {
    table: 'claims',
    columns: ['scope', 'name', 'account', 'kind', 'id'],
    rows: claims.map(({ scope, name }) => [scope, name, account, kind, id]),
    conflict: 'ON CONFLICT DO NOTHING',
  }
}

function referenceRows({ account, kind, id }: Draft, references: readonly Reference[]): SqlChange {
  return {
    table: 'refs',
    columns: ['id', 'field', 'target', 'account', 'kind', 'on_delete'],
    rows: references.map(({ field, target, onDelete }) => [id, field, target, account, kind, onDelete]),
  }
}

function draftToRow(draft: Draft, revision: number, createdAt: number): Row {
  const { kind, id, account, data, secrets } = draft
  return { kind, id, account, revision, createdAt, data, secrets }
}

function uniqueBy<T>(items: readonly T[], key: (item: T) => string): readonly T[] {
  return items.length < 2 ? items : [...new Map(items.map((item) => [key(item), item])).values()]
}

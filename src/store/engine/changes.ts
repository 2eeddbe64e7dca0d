import type { Change } from '../store.ts'
import type { Head, Position, Sql, SqlRecord, SqlValue } from './sql.ts'

/** The columns of a change, in the order of `PendingChange`. */
export const CHANGE_COLUMNS = [
  'revision',
  'at',
  'account',
  'kind',
  'id',
  'op',
  'data',
  'created_at',
  'principal',
  'credential',
] as const

/** The column values of a change that is not written yet. */
export type PendingChange = readonly SqlValue[]

/** The statement that reads the head. */
export const SELECT_HEAD = 'SELECT revision, pruned, audits FROM head'

/** The setting with the identity of the history: that of its last epoch. */
export const HISTORY_SETTING = 'store.history'

/** The last change of a row in a commit: the values of `ROW_COLUMNS`, undefined for one that is deleted. */
export interface CommittedRow {
  readonly kind: string
  readonly id: string
  readonly revision: number
  readonly values: readonly SqlValue[] | undefined
}

/** What a commit has changed: processes that had everything before it need not read it. They may get it as a message. */
export interface Commit {
  readonly from: Position
  readonly to: Position
  /** In the order of their changes; undefined when they are too many for a message. */
  readonly rows: readonly CommittedRow[] | undefined
}

/** The statement that reads the head with the identity of the history. */
export const SELECT_POSITION = SELECT_HEAD.replace(
  ' FROM',
  `, (SELECT value FROM settings WHERE name = '${HISTORY_SETTING}') AS history FROM`,
)

/** Reads the head. */
export async function readHead(sql: Sql): Promise<Head & Position> {
  return toPosition(await sql.get(SELECT_POSITION))
}

/** Converts the row that `SELECT_POSITION` returns. */
export function toPosition(record: SqlRecord | undefined): Head & Position {
  return { ...toHead(record), history: String(record?.history ?? '') }
}

/** Converts the row that `SELECT_HEAD` returns. */
export function toHead(record: SqlRecord | undefined): Head {
  return {
    revision: Number(record?.revision),
    pruned: Number(record?.pruned),
    audits: Number(record?.audits),
  }
}

/** Committed changes above a revision, oldest first. */
export async function changesAfter(sql: Sql, after: number, limit: number): Promise<Change[]> {
  const records = await sql.all(
    `SELECT ${CHANGE_COLUMNS.join(', ')} FROM changes WHERE revision > ? ORDER BY revision LIMIT ?`,
    after,
    limit,
  )
  return records.map(toChange)
}

/** Deletes up to `limit` of the oldest changes up to a revision; returns whether more remain. */
export async function pruneBatch(sql: Sql, upTo: number, limit: number): Promise<boolean> {
  const lastOfBatch = await sql.get(
    'SELECT revision FROM changes WHERE revision <= ? ORDER BY revision LIMIT 1 OFFSET ?',
    upTo,
    limit - 1,
  )
  const upperBound = lastOfBatch
    ? Number(lastOfBatch.revision)
    : Math.min(upTo, (await readHead(sql)).revision)
  await sql.run('DELETE FROM changes WHERE revision <= ?', upperBound)
  await sql.run('UPDATE head SET pruned = ? WHERE pruned < ?', upperBound, upperBound)
  return lastOfBatch !== undefined
}

function toChange(record: SqlRecord): Change {
  return {
    revision: record.revision as number,
    committedAt: record.at as number,
    account: record.account as string,
    kind: record.kind as string,
    id: record.id as string,
    op: record.op as Change['op'],
    data: JSON.parse(record.data as string),
    createdAt: record.created_at as number,
    principal: (record.principal as string | null) ?? undefined,
    credential: (record.credential as string | null) ?? undefined,
  }
}

import { createHmac, randomUUID } from 'node:crypto'
import type { Sql, SqlChange, SqlRecord, SqlValue } from '../engine/sql.ts'
import type { AuditEntry, AuditRecord, FieldChange } from '../store.ts'

const AUDIT_COLUMNS = [
  'account',
  'id',
  'at',
  'principal',
  'credential',
  'source',
  'request_id',
  'action',
  'kind',
  'object',
  'outcome',
  'detail',
  'changes',
  'hash',
] as const
export const READ_CHAIN_HEAD = 'SELECT id, hash FROM audit_heads WHERE account = ?'
const SELECT = `SELECT ${AUDIT_COLUMNS.join(', ')} FROM audit`
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const NUMBER_LENGTH = 10
const RANDOM_LENGTH = 17

/** The head of an account's chain: its last record. */
export interface ChainHead {
  readonly id: string
  readonly hash: string
}

/**
 * Creates the record after `head` in an account's chain. Its digest covers the previous digest and is keyed with a secret
 * that is sealed in the database, so that neither an edited record nor a rewritten chain verifies (decision 27).
 */
export function nextRecord(
  key: Buffer,
  head: ChainHead | undefined,
  entry: AuditEntry,
  time: number,
): AuditRecord {
  const unsigned = { ...entry, id: recordId(head ? recordNumber(head.id) + 1 : 1), time }
  return { ...unsigned, hash: digest(key, head?.hash ?? '', unsigned) }
}

/** Reads the head of an account's chain. */
export async function readChainHead(sql: Sql, account: string): Promise<ChainHead | undefined> {
  const row = await sql.get(READ_CHAIN_HEAD, account)
  return row && { id: String(row.id), hash: String(row.hash) }
}

/** The changes that write records and the new chain heads of their accounts. */
export function auditChanges(records: readonly AuditRecord[]): SqlChange[] {
  const heads = new Map(records.map(({ account, id, hash }) => [account, [account, id, hash]]))
  return [
    { table: 'audit', columns: AUDIT_COLUMNS, rows: records.map(toColumns) },
    {
      table: 'audit_heads',
      columns: ['account', 'id', 'hash'],
      rows: [...heads.values()],
      conflict: 'ON CONFLICT (account) DO UPDATE SET id = excluded.id, hash = excluded.hash',
    },
  ]
}

/** A page of an account's records, newest first. */
export async function auditPage(
  sql: Sql,
  account: string,
  { limit, before }: { limit: number; before?: string | undefined },
): Promise<AuditRecord[]> {
  const records =
    before === undefined
      ? await sql.all(`${SELECT} WHERE account = ? ORDER BY id DESC LIMIT ?`, account, limit)
      : await sql.all(
          `${SELECT} WHERE account = ? AND id < ? ORDER BY id DESC LIMIT ?`,
          account,
          before,
          limit,
        )
  return records.map(toRecord)
}

/** Verifies a chain from its beginning; returns the id of the first record that does not match. */
export async function verifyChain(sql: Sql, key: Buffer, account: string): Promise<string | undefined> {
  const head = await readChainHead(sql, account)
  let previous: ChainHead | undefined
  for (;;) {
    const page = await sql.all(
      `${SELECT} WHERE account = ? AND id > ? ORDER BY id LIMIT 500`,
      account,
      previous?.id ?? '',
    )
    for (const record of page.map(toRecord)) {
      // Records written after the verification began are left to the next one.
      if (head && record.id > head.id) return previous?.id === head.id ? undefined : head.id
      const number = previous ? recordNumber(previous.id) + 1 : 1
      const { hash, ...unsigned } = record
      if (recordNumber(record.id) !== number || digest(key, previous?.hash ?? '', unsigned) !== hash)
        return record.id
      previous = record
    }
    if (page.length < 500) break
    // The embedded engine is synchronous: yields to the event loop.
    await new Promise(setImmediate)
  }
  // A truncated chain verifies, but does not reach its head.
  if (previous?.id !== head?.id || previous?.hash !== head?.hash) return head?.id ?? previous?.id
  return undefined
}

function digest(key: Buffer, previousHash: string, record: Omit<AuditRecord, 'hash'>): string {
  const fields = AUDIT_COLUMNS.filter(
    // Records without changes have the digest of releases that did not know them (decision 198).
    (column) => column !== 'hash' && (column !== 'changes' || record.changes !== undefined),
  ).map((column) => columnValue(record, column))
  return createHmac('sha256', key)
    .update(JSON.stringify([previousHash, ...fields]))
    .digest('base64url')
}

function columnValue(record: Omit<AuditRecord, 'hash'>, column: (typeof AUDIT_COLUMNS)[number]): SqlValue {
  if (column === 'at') return record.time
  if (column === 'request_id') return record.requestId
  if (column === 'changes') return record.changes === undefined ? null : JSON.stringify(record.changes)
  if (column === 'hash') return null
  return record[column] ?? null
}

function toColumns(record: AuditRecord): SqlValue[] {
  return AUDIT_COLUMNS.map((column) => (column === 'hash' ? record.hash : columnValue(record, column)))
}

function toRecord(record: SqlRecord): AuditRecord {
  const text = (column: string) => record[column] as string
  const optional = (column: string) => (record[column] as string | null) ?? undefined
  return {
    account: text('account'),
    id: text('id'),
    time: Number(record.at),
    principal: optional('principal'),
    credential: optional('credential'),
    source: optional('source'),
    requestId: text('request_id'),
    action: text('action'),
    kind: text('kind'),
    object: optional('object'),
    outcome: text('outcome') as AuditRecord['outcome'],
    detail: optional('detail'),
    ...(typeof record.changes === 'string' && { changes: JSON.parse(record.changes) as FieldChange[] }),
    hash: text('hash'),
  }
}

/** An id in the usual form that begins with the record's number, so that ids sort in chain order. */
function recordId(number: number): string {
  let digits = ''
  for (let remaining = number; digits.length < NUMBER_LENGTH; remaining = Math.floor(remaining / 62)) {
    digits = ALPHABET[remaining % 62] + digits
  }
  const random = randomUUID().replaceAll('-', '').slice(0, RANDOM_LENGTH)
  return `ae_${digits}${random}`
}

function recordNumber(id: string): number {
  let number = 0
  for (const digit of id.slice(3, 3 + NUMBER_LENGTH)) number = number * 62 + ALPHABET.indexOf(digit)
  return number
}

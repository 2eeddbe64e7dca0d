import type { DurableStore } from '../durable-store.ts'
import type { Sql } from '../engine/sql.ts'
import type { CallSql } from '../write/write-queue.ts'

/** Revokes the log-in sessions of a subject, in a scope, that began at or before `latestStart`. */
export interface LoginRevocation {
  readonly scopeId: string
  readonly subject: string
  readonly latestStart: number
  /** Milliseconds since 1970 after which the revocation is no longer needed. */
  readonly expiresAt: number
}

/** A page of revocations; `number` is the cursor for the next one. */
interface RevocationPage {
  readonly revocations: readonly LoginRevocation[]
  readonly number: number
  readonly more: boolean
}

/** Log-in state that nodes share: used one-time values and revocations. Rows expire, and none is a resource. */
export interface LoginRecords {
  /** True for the first use of an id on any node until it expires. */
  use(id: string, options: { now: number; expiresAt: number }): Promise<boolean>
  revoke(revocation: LoginRevocation): Promise<void>
  /** Revocations after a number, oldest first; starts over when the database was restored to before that number. */
  revocationsAfter(number: number, limit: number): Promise<RevocationPage>
  purge(now: number): Promise<void>
}

const PURGE_BATCH_SIZE = 2_000
/** How long a person without sessions is listed. */
const USER_RETENTION_MS = 90 * 24 * 60 * 60 * 1000
const UNUSED_USER = `last_active <= ? AND NOT EXISTS
  (SELECT 1 FROM application_sessions AS session
   WHERE session.account = application_users.account AND session.user_id = application_users.id)`

/** The columns of sessions that the scope and the subject of a revocation may name. */
const ENDED_SESSIONS = [
  ['place', 'id'],
  ['place', 'person'],
  ['client', 'person'],
  ['client', 'provider_session'],
] as const

/** Opens the log-in records of a store. */
export function openLoginRecords({ query, inTransaction }: DurableStore): LoginRecords {
  return {
    use: (id, { now, expiresAt }) =>
      inTransaction(async (sql) => {
        const inserted = await sql.run(
          `INSERT INTO login_uses (id, expires_at) VALUES (?, ?)
           ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at WHERE login_uses.expires_at <= ?`,
          id,
          expiresAt,
          now,
        )
        return inserted > 0
      }),

    revoke: (revocation) => inTransaction((sql) => addRevocation(sql, revocation)),

    revocationsAfter: (number, limit) =>
      query(async (sql): Promise<RevocationPage> => {
        const after = (await lastRevocationNumber(sql)) < number ? 0 : number
        const rows = await sql.all(
          'SELECT place, subject, at, expires_at, number FROM login_endings WHERE number > ? ORDER BY number LIMIT ?',
          after,
          limit,
        )
        return {
          revocations: rows.map(({ place, subject, at, expires_at }) => ({
            scopeId: String(place),
            subject: String(subject),
            latestStart: Number(at),
            expiresAt: Number(expires_at),
          })),
          number: Number(rows.at(-1)?.number ?? after),
          more: rows.length === limit,
        }
      }),

    async purge(now) {
      const remove = (table: string, key: string, condition: string, cutoff = now) =>
        inTransaction(async (sql) => {
          const deleted = await sql.run(
            `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ?)`,
            cutoff,
            PURGE_BATCH_SIZE,
          )
          return deleted === PURGE_BATCH_SIZE
        })
      while (await remove('login_uses', 'id', 'expires_at <= ?'));
      // The last number stays, so that no number is assigned twice.
      const notLast = 'number < (SELECT MAX(number) FROM login_endings)'
      while (await remove('login_endings', 'place, subject', `expires_at <= ? AND ${notLast}`));
      while (await remove('application_sessions', 'account, id', 'expires_at <= ?'));
      const idleSince = now - USER_RETENTION_MS
      while (await remove('application_users', 'account, id', UNUSED_USER, idleSince));
    },
  }
}

/** Adds a revocation, and removes the sessions that it ends from the lists of the account. */
export async function addRevocation(
  sql: Sql & Pick<CallSql, 'announce'>,
  { scopeId, subject, latestStart, expiresAt }: LoginRevocation,
): Promise<void> {
  // Write transactions are serialised, so that numbers become visible in order.
  const number = (await lastRevocationNumber(sql)) + 1
  sql.announce()
  await sql.run(
    `INSERT INTO login_endings (place, subject, at, expires_at, number) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (place, subject) DO UPDATE SET number = excluded.number,
     at = CASE WHEN excluded.at > login_endings.at THEN excluded.at ELSE login_endings.at END,
     expires_at = CASE WHEN excluded.expires_at > login_endings.expires_at THEN excluded.expires_at
       ELSE login_endings.expires_at END`,
    scopeId,
    subject,
    latestStart,
    expiresAt,
    number,
  )
  for (const [scope, column] of ENDED_SESSIONS)
    await sql.run(
      `DELETE FROM application_sessions WHERE ${scope} = ? AND ${column} = ? AND created_at <= ?`,
      scopeId,
      subject,
      latestStart,
    )
}

/** The number of the newest revocation. */
export async function lastRevocationNumber(sql: Sql): Promise<number> {
  const row = await sql.get('SELECT MAX(number) AS number FROM login_endings')
  return Number(row?.number ?? 0)
}

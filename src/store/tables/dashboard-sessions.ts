import type { DurableStore } from '../durable-store.ts'
import type { SqlRecord } from '../engine/sql.ts'

/** A signed-in browser session of the dashboard. */
export interface DashboardSession {
  readonly id: string
  readonly account: string
  /** The user or bot that signed in. */
  readonly owner: string
  /** The API key used to sign in; undefined for a password. */
  readonly apiKey: string | undefined
  readonly createdAt: number
  /** The time of the last `touch`. */
  readonly seenAt: number
}

/** Browser sessions by the digest of their token. They are not resources: they are not followed or listed. */
export interface DashboardSessions {
  find(digest: string): Promise<DashboardSession | undefined>
  /** Adds a session; deletes expired sessions, and the owner's oldest beyond `keep`. */
  add(
    digest: string,
    session: DashboardSession,
    limits: { keep: number; createdAfter: number; seenAfter: number },
  ): Promise<void>
  touch(digest: string, seenAt: number): Promise<void>
  /** When the users and bots of an account signed in last, by id; also after their sessions have ended. */
  lastSignIns(account: string): Promise<ReadonlyMap<string, number>>
  remove(digest: string): Promise<void>
  /** Deletes all sessions of a user or bot except the one with this id. */
  removeByOwner(owner: string, except?: string): Promise<void>
}

/** Opens the dashboard sessions of a store. */
export function openDashboardSessions({ engine, inTransaction }: DurableStore): DashboardSessions {
  return {
    async find(digest) {
      const record = await engine.reader.get('SELECT * FROM dashboard_sessions WHERE digest = ?', digest)
      return record && toSession(record)
    },
    add: (digest, session, { keep, createdAfter, seenAfter }) =>
      inTransaction(async (sql) => {
        await sql.run(
          'DELETE FROM dashboard_sessions WHERE seen_at <= ? OR created_at <= ?',
          seenAfter,
          createdAfter,
        )
        const { id, account, owner, apiKey = null, createdAt, seenAt } = session
        await sql.run(
          `INSERT INTO dashboard_sessions (digest, id, account, owner, api_key, created_at, seen_at)
           VALUES (?, ?, ?, ?, ?, ?, ?)`,
          digest,
          id,
          account,
          owner,
          apiKey,
          createdAt,
          seenAt,
        )
        await sql.run(
          `INSERT INTO dashboard_sign_ins (account, owner, at) VALUES (?, ?, ?)
           ON CONFLICT (account, owner) DO UPDATE SET at = excluded.at`,
          account,
          owner,
          createdAt,
        )
        await sql.run(
          `DELETE FROM dashboard_sessions WHERE owner = ? AND id NOT IN
           (SELECT id FROM dashboard_sessions WHERE owner = ? ORDER BY id DESC LIMIT ?)`,
          owner,
          owner,
          keep,
        )
      }),
    async lastSignIns(account) {
      const statement = 'SELECT owner, at FROM dashboard_sign_ins WHERE account = ?'
      const records = await engine.reader.all(statement, account)
      return new Map(records.map(({ owner, at }) => [String(owner), Number(at)]))
    },
    touch: (digest, seenAt) =>
      inTransaction(async (sql) => {
        await sql.run('UPDATE dashboard_sessions SET seen_at = ? WHERE digest = ?', seenAt, digest)
      }),
    remove: (digest) =>
      inTransaction(async (sql) => {
        await sql.run('DELETE FROM dashboard_sessions WHERE digest = ?', digest)
      }),
    removeByOwner: (owner, except = '') =>
      inTransaction(async (sql) => {
        await sql.run('DELETE FROM dashboard_sessions WHERE owner = ? AND id <> ?', owner, except)
      }),
  }
}

function toSession(record: SqlRecord): DashboardSession {
  return {
    id: String(record.id),
    account: String(record.account),
    owner: String(record.owner),
    apiKey: record.api_key === null ? undefined : String(record.api_key),
    createdAt: Number(record.created_at),
    seenAt: Number(record.seen_at),
  }
}

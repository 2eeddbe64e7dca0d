import { newId } from '../../base/values/id.ts'
import type { SessionActivity, SessionDetails, StartedSession, UserProfile } from '../../resources/index.ts'
import type { DurableStore } from '../durable-store.ts'
import type { Sql, SqlRecord } from '../engine/sql.ts'
import { addRevocation, type LoginRevocation } from './login-records.ts'

/** A person who has signed in at the account's endpoints. */
export interface ApplicationUserRow {
  readonly id: string
  readonly profile: UserProfile
  readonly createdAt: number
  readonly lastLogin: number
  readonly lastActive: number
}

/** A session of such a person. */
export interface ApplicationSessionRow {
  readonly id: string
  readonly userId: string
  readonly details: SessionDetails
  readonly createdAt: number
  readonly lastActive: number
  readonly expiresAt: number
}

/** The newest `limit` rows from the id `from` on. */
interface RowQuery {
  readonly from: string | undefined
  readonly limit: number
}

/** The visitors who have signed in, and their sessions. Rows expire, and none is a resource of the store. */
export interface ApplicationSessions {
  /** Writes started sessions, then activity, in one transaction. Sessions that were revoked meanwhile are left out. */
  record(started: readonly StartedSession[], activity: readonly SessionActivity[]): Promise<void>
  users(account: string, query: RowQuery): Promise<ApplicationUserRow[]>
  sessions(account: string, query: RowQuery): Promise<ApplicationSessionRow[]>
  /** Ends a session, and returns what revokes it; undefined when there is none. */
  endSession(account: string, id: string): Promise<LoginRevocation | undefined>
  /** Forgets a user, and returns what revokes all their sessions; undefined when there is none. */
  removeUser(account: string, id: string, now: number): Promise<LoginRevocation | undefined>
}

/** Covers sessions that are not recorded yet. */
const MIN_REVOCATION_MS = 30 * 24 * 60 * 60 * 1000
/** Sorts after every id. */
const LAST_ID = '~'

/** Opens the sessions of visitors in a store. */
export function openApplicationSessions({ engine, inTransaction }: DurableStore): ApplicationSessions {
  const list = (table: string, account: string, { from = LAST_ID, limit }: RowQuery) =>
    engine.reader.all(
      `SELECT * FROM ${table} WHERE account = ? AND id <= ? ORDER BY id DESC LIMIT ?`,
      account,
      from,
      limit,
    )

  return {
    record: (started, activity) =>
      inTransaction(async (sql) => {
        for (const session of started) if (!(await isRevoked(sql, session))) await insertSession(sql, session)
        for (const each of activity) await recordActivity(sql, each)
      }),

    users: async (account, query) => (await list('application_users', account, query)).map(toUser),
    sessions: async (account, query) => (await list('application_sessions', account, query)).map(toSession),

    endSession: (account, id) =>
      inTransaction(async (sql) => {
        const row = await sql.get(
          'SELECT place, created_at, ends_at FROM application_sessions WHERE account = ? AND id = ?',
          account,
          id,
        )
        if (row === undefined) return undefined
        const [latestStart, expiresAt] = [Number(row.created_at), Number(row.ends_at)]
        const revocation = { scopeId: String(row.place), subject: id, latestStart, expiresAt }
        await addRevocation(sql, revocation)
        return revocation
      }),

    removeUser: (account, id, now) =>
      inTransaction(async (sql) => {
        const user = await sql.get(
          'SELECT subject FROM application_users WHERE account = ? AND id = ?',
          account,
          id,
        )
        if (user === undefined) return undefined
        const last = await sql.get(
          'SELECT MAX(ends_at) AS ends_at FROM application_sessions WHERE account = ? AND user_id = ?',
          account,
          id,
        )
        const expiresAt = Math.max(now + MIN_REVOCATION_MS, Number(last?.ends_at ?? 0))
        const revocation = { scopeId: account, subject: String(user.subject), latestStart: now, expiresAt }
        await addRevocation(sql, revocation)
        await sql.run('DELETE FROM application_sessions WHERE account = ? AND user_id = ?', account, id)
        await sql.run('DELETE FROM application_users WHERE account = ? AND id = ?', account, id)
        return revocation
      }),
  }
}

async function isRevoked(sql: Sql, session: StartedSession) {
  const { id, account, scopeId, person, user, client = null, providerSession = null, startedAt } = session
  const row = await sql.get(
    `SELECT 1 AS revoked FROM login_endings
     WHERE at >= ? AND ((place = ? AND subject IN (?, ?)) OR (place = ? AND subject = ?)
       OR (place = ? AND subject IN (?, ?)))`,
    startedAt,
    scopeId,
    id,
    person,
    account,
    user,
    client,
    person,
    providerSession,
  )
  return row !== undefined
}

async function insertSession(sql: Sql, session: StartedSession): Promise<void> {
  const { id, account, scopeId, person, user, profile, details, startedAt, endsAt, expiresAt } = session
  const { client = null, providerSession = null } = session
  await sql.run(
    `INSERT INTO application_users (account, id, subject, profile, created_at, last_login, last_active)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (account, subject) DO UPDATE SET profile = excluded.profile,
     last_login = excluded.last_login, last_active = excluded.last_active`,
    account,
    newId('au', startedAt),
    user,
    JSON.stringify(profile),
    startedAt,
    startedAt,
    startedAt,
  )
  await sql.run(
    `INSERT INTO application_sessions
     (account, id, user_id, place, person, client, provider_session, details, created_at, last_active, ends_at, expires_at)
     SELECT account, ?, id, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM application_users WHERE account = ? AND subject = ?
     ON CONFLICT (account, id) DO NOTHING`,
    id,
    scopeId,
    person,
    client,
    providerSession,
    JSON.stringify(details),
    startedAt,
    startedAt,
    endsAt,
    expiresAt,
    account,
    user,
  )
}

async function recordActivity(
  sql: Sql,
  { account, id, lastActive, expiresAt }: SessionActivity,
): Promise<void> {
  // Several nodes may report the same session, in any order.
  await sql.run(
    'UPDATE application_sessions SET last_active = ?, expires_at = ? WHERE account = ? AND id = ? AND last_active < ?',
    lastActive,
    expiresAt,
    account,
    id,
    lastActive,
  )
  await sql.run(
    `UPDATE application_users SET last_active = ? WHERE account = ? AND last_active < ?
     AND id = (SELECT user_id FROM application_sessions WHERE account = ? AND id = ?)`,
    lastActive,
    account,
    lastActive,
    account,
    id,
  )
}

function toUser(row: SqlRecord): ApplicationUserRow {
  return {
    id: String(row.id),
    profile: JSON.parse(String(row.profile)) as UserProfile,
    createdAt: Number(row.created_at),
    lastLogin: Number(row.last_login),
    lastActive: Number(row.last_active),
  }
}

function toSession(row: SqlRecord): ApplicationSessionRow {
  return {
    id: String(row.id),
    userId: String(row.user_id),
    details: JSON.parse(String(row.details)) as SessionDetails,
    createdAt: Number(row.created_at),
    lastActive: Number(row.last_active),
    expiresAt: Number(row.expires_at),
  }
}

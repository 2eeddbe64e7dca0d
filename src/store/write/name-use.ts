import type { Dialect, Sql } from '../engine/sql.ts'
import type { NameListener, NameSpans, NameUseQuery } from '../name-claim-rules.ts'

/** The columns of the table `name_claims`. */
export const CLAIM_COLUMNS = [
  'name',
  'listener',
  'tunnel',
  'account',
  'node',
  'session',
  'bind',
  'credential',
  'client',
  'proto',
  'pooled',
  'fence',
  'released_at',
  'kept',
]
export const CLAIM_LIST = CLAIM_COLUMNS.join(', ')

/** The names that another account holds, or that are in its grace period or cooldown. */
export async function namesUsedByOthers(
  sql: Sql,
  { unnest, wallClock }: Pick<Dialect, 'unnest' | 'wallClock'>,
  account: string,
  { names = [], prefix, includeHeld = false, limit }: NameUseQuery,
  { graceMs, cooldownMs }: NameSpans,
): Promise<string[]> {
  const search = (condition: string, ...values: string[]) =>
    sql.all(
      `SELECT DISTINCT name FROM name_claims WHERE ${condition} AND ((account <> ? AND (released_at IS NULL
       OR released_at > ${wallClock} - ? OR (kept = 1 AND released_at > ${wallClock} - ?)))
       ${includeHeld ? 'OR released_at IS NULL' : ''}) LIMIT ?`,
      ...values,
      account,
      cooldownMs,
      graceMs,
      limit,
    )
  const rows = [
    ...(names.length === 0 ? [] : await search(`name IN (${unnest})`, JSON.stringify(names))),
    ...(prefix === undefined ? [] : await search('name >= ? AND name < ?', prefix, `${prefix}\u{10ffff}`)),
  ]
  return rows.map(({ name }) => String(name))
}

/** Records that a reservation of the account held a name until now. */
export async function releaseName(
  sql: Sql,
  { wallClock }: Pick<Dialect, 'wallClock'>,
  account: string,
  { name, listener, id }: { name: string; listener: NameListener; id: string },
): Promise<void> {
  await sql.run(
    `INSERT INTO name_claims (${CLAIM_LIST}) VALUES (?, ?, ?, ?, '', '', '', '', '', '', 0, 0, ${wallClock}, 0)
     ON CONFLICT DO NOTHING`,
    name,
    listener,
    id,
    account,
  )
}

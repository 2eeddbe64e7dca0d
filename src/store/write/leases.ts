import type { Beat, Dialect, Sql } from '../engine/sql.ts'
import { type Lease, LeaseLost } from '../store.ts'

type LeaseClock = Pick<Dialect, 'leaseClock'>

/**
 * Acquires a lease if it is free, expired, or already held by this holder. Time is the database's, never the wall clock of
 * this process (P54), and every acquisition raises the fence, so that a stalled holder is recognised.
 */
export async function acquireLease(
  { beat, dialect }: { readonly beat: Beat; readonly dialect: LeaseClock },
  name: string,
  holder: string,
  ttlMs: number,
): Promise<Lease | undefined> {
  const { leaseClock } = dialect
  const acquired = await beat((sql) =>
    sql.get(
      `INSERT INTO leases (name, holder, fence, ttl, expires_at) VALUES (?, ?, 1, ?, ${leaseClock} + ?)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = leases.fence + 1, ttl = excluded.ttl,
       expires_at = excluded.expires_at WHERE leases.holder = excluded.holder OR NOT ${isLeased(dialect, 'leases')}
       RETURNING fence`,
      name,
      holder,
      ttlMs,
      ttlMs,
    ),
  )
  if (acquired === undefined) return undefined
  const fence = Number(acquired.fence)
  return {
    name,
    fence,
    async renew() {
      const text = `UPDATE leases SET expires_at = ${leaseClock} + ?
        WHERE name = ? AND fence = ? AND ${isLeased(dialect, 'leases')}`
      return (await beat((sql) => sql.run(text, ttlMs, name, fence))) > 0
    },
    async release() {
      await beat((sql) =>
        sql.run('UPDATE leases SET expires_at = 0 WHERE name = ? AND fence = ?', name, fence),
      )
    },
  }
}

/** Throws `LeaseLost` unless the lease is still held under this fence. */
export async function requireLease(
  sql: Sql,
  dialect: LeaseClock,
  { name, fence }: { name: string; fence: number },
): Promise<void> {
  const text = `SELECT 1 FROM leases WHERE name = ? AND fence = ? AND ${isLeased(dialect, 'leases')}`
  if ((await sql.get(text, name, fence)) === undefined) throw new LeaseLost(name)
}

/**
 * The condition that the lease in a row of a table is valid. An expiry further away than its TTL was written before a reboot
 * of the machine, which resets the clock.
 */
export function isLeased({ leaseClock }: LeaseClock, table: string): string {
  return `(${table}.expires_at > ${leaseClock} AND ${table}.expires_at <= ${leaseClock} + ${table}.ttl)`
}

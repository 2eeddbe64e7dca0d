import type { Sql } from './sql.ts'
import { type Lease, LeaseLost } from './store.ts'

type LeaseSql = Sql & { now(): number | Promise<number> }
type InTransaction = <T>(body: (sql: LeaseSql) => Promise<T>) => Promise<T>

/**
 * Acquires a lease if it is free, expired, or already held by this holder. Time is the database's, never the wall clock of
 * this process (P54), and every acquisition raises the fence, so that a stalled holder is recognised.
 */
export async function acquireLease(
  inTransaction: InTransaction,
  name: string,
  holder: string,
  ttlMs: number,
): Promise<Lease | undefined> {
  const fence = await inTransaction(async (sql) => {
    const now = await sql.now()
    const lease = await sql.get('SELECT holder, fence, ttl, expires_at FROM leases WHERE name = ?', name)
    if (lease && lease.holder !== holder && isLeased(lease, now)) return undefined
    const next = Number(lease?.fence ?? 0) + 1
    await sql.run(
      `INSERT INTO leases (name, holder, fence, ttl, expires_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = excluded.fence, ttl = excluded.ttl,
       expires_at = excluded.expires_at`,
      name,
      holder,
      next,
      ttlMs,
      now + ttlMs,
    )
    return next
  })
  if (fence === undefined) return undefined
  return {
    name,
    fence,
    renew: () =>
      inTransaction(async (sql) => {
        const now = await sql.now()
        const lease = await sql.get('SELECT fence, ttl, expires_at FROM leases WHERE name = ?', name)
        if (lease?.fence !== fence || !isLeased(lease, now)) return false
        await sql.run(
          'UPDATE leases SET expires_at = ? WHERE name = ? AND fence = ?',
          now + ttlMs,
          name,
          fence,
        )
        return true
      }),
    release: async () => {
      await inTransaction((sql) =>
        Promise.resolve(
          sql.run('UPDATE leases SET expires_at = 0 WHERE name = ? AND fence = ?', name, fence),
        ),
      )
    },
  }
}

/** Throws `LeaseLost` unless the lease is still held under this fence. */
export async function requireLease(
  sql: LeaseSql,
  { name, fence }: { name: string; fence: number },
): Promise<void> {
  const now = await sql.now()
  const lease = await sql.get('SELECT fence, ttl, expires_at FROM leases WHERE name = ?', name)
  if (lease?.fence !== fence || !isLeased(lease, now)) throw new LeaseLost(name)
}

/**
 * Whether a lease is valid. An expiry further away than its TTL was written before a reboot of the machine, which resets
 * the clock.
 */
export function isLeased(lease: Readonly<Record<string, unknown>>, now: number): boolean {
  const remainingMs = Number(lease.expires_at) - now
  return remainingMs > 0 && remainingMs <= Number(lease.ttl)
}

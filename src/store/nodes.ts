import type { DurableStore } from './durable-store.ts'
import type { Sql } from './sql.ts'

/** A node of this database, and the address at which its peers reach its tunnels. */
export interface NodeRecord {
  readonly id: string
  /** `host:port` */
  readonly address: string
  /** `host:port` at which agents reach it; undefined when it accepts none. */
  readonly agentAddress: string | undefined
}

/** The live nodes of this database. Time is the database's, so that the clocks of nodes do not matter (P54). */
export interface Nodes {
  /**
   * Registers a node with an address for `ttlMs` and returns all other live nodes. Expired nodes are removed only with
   * `expire`: during a database outage no node could renew its registration.
   */
  heartbeat(
    self: { id: string; address: string | undefined; agentAddress?: string | undefined },
    times: { ttlMs: number; expire: boolean },
  ): Promise<readonly NodeRecord[]>
  /** The registered nodes, from the fallback copy while the database is unavailable. */
  list(): Promise<readonly NodeRecord[]>
  leave(id: string): Promise<void>
}

/** Opens the node list of a store. */
export function openNodes({ query, inTransaction }: DurableStore): Nodes {
  return {
    heartbeat: ({ id, address, agentAddress = '' }, { ttlMs, expire }) =>
      inTransaction(async (sql) => {
        const now = await sql.now()
        // An expiry further away than the TTL was written before a reboot, which resets the clock.
        if (expire)
          await sql.run('DELETE FROM nodes WHERE expires_at <= ? OR expires_at > ?', now, now + ttlMs)
        if (address !== undefined)
          await sql.run(
            `INSERT INTO nodes (id, address, agent_address, expires_at) VALUES (?, ?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET address = excluded.address, agent_address = excluded.agent_address,
               expires_at = excluded.expires_at`,
            id,
            address,
            agentAddress,
            now + ttlMs,
          )
        return (await listNodes(sql)).filter((node) => node.id !== id)
      }),

    list: () => query(listNodes),

    async leave(id) {
      await inTransaction(async (sql) => sql.run('DELETE FROM nodes WHERE id = ?', id))
    },
  }
}

async function listNodes(sql: Sql): Promise<NodeRecord[]> {
  const rows = await sql.all('SELECT id, address, agent_address FROM nodes ORDER BY id')
  return rows.map((row) => ({
    id: String(row.id),
    address: String(row.address),
    agentAddress: String(row.agent_address) || undefined,
  }))
}

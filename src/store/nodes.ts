import type { DurableStore } from './durable-store.ts'
import type { Sql } from './sql.ts'

/** A process on this database, and where others reach the tunnels that it has. */
export interface NodeRecord {
  readonly id: string
  /** `host:port` */
  readonly address: string
  /** `host:port` where agents reach it; undefined when it takes none. */
  readonly agentAddress: string | undefined
}

/** Which processes are alive on this database. Time is the database's, so that no node's clock counts (P54). */
export interface Nodes {
  /**
   * Says that a node is alive for this long, unless it has nothing to offer; answers with all the others that are. Only
   * with `expire` are those that did not say so in time removed: after an outage nobody could.
   */
  beat(
    self: { id: string; address: string | undefined; agentAddress?: string | undefined },
    times: { ttlMs: number; expire: boolean },
  ): Promise<readonly NodeRecord[]>
  /** Those that were last heard of, when the database cannot be told that this one is alive. */
  lastKnown(): Promise<readonly NodeRecord[]>
  leave(id: string): Promise<void>
}

/** The list of nodes in the tables of a store. */
export function openNodes({ query, inTransaction }: DurableStore): Nodes {
  return {
    beat: ({ id, address, agentAddress = '' }, { ttlMs, expire }) =>
      inTransaction(async (sql) => {
        const now = await sql.now()
        // An end further away than any node may ask for was written before the machine's clock began anew.
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

    lastKnown: () => query(listNodes),

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

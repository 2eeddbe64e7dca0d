import type { DurableStore } from './durable-store.ts'
import type { Sql } from './sql.ts'

/** A process on this database, and where others reach the tunnels that it has. */
export interface KnownNode {
  readonly id: string
  /** `host:port` */
  readonly address: string
}

/** Which processes are alive on this database. Time is the database's, so that no node's clock counts (P54). */
export interface Nodes {
  /** Says that a node is alive for this long, unless it has nothing to offer; answers with all the others that are. */
  beat(self: { id: string; address: string | undefined }, ttlMs: number): Promise<readonly KnownNode[]>
  /** Those that were last heard of, when the database cannot be told that this one is alive. */
  lastKnown(): Promise<readonly KnownNode[]>
  leave(id: string): Promise<void>
}

/** The list of nodes in the tables of a store. */
export function openNodes({ ask, inTransaction }: DurableStore): Nodes {
  return {
    beat: ({ id, address }, ttlMs) =>
      inTransaction(async (sql) => {
        const now = await sql.now()
        // An end further away than any node may ask for was written before the machine's clock began anew.
        await sql.run('DELETE FROM nodes WHERE expires_at <= ? OR expires_at > ?', now, now + ttlMs)
        if (address !== undefined)
          await sql.run(
            `INSERT INTO nodes (id, address, expires_at) VALUES (?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET address = excluded.address, expires_at = excluded.expires_at`,
            id,
            address,
            now + ttlMs,
          )
        return (await listNodes(sql)).filter((node) => node.id !== id)
      }),

    lastKnown: () => ask(listNodes),

    async leave(id) {
      await inTransaction(async (sql) => sql.run('DELETE FROM nodes WHERE id = ?', id))
    },
  }
}

async function listNodes(sql: Sql): Promise<KnownNode[]> {
  const rows = await sql.all('SELECT id, address FROM nodes ORDER BY id')
  return rows.map((row) => ({ id: String(row.id), address: String(row.address) }))
}

import type { DurableStore } from '../durable-store.ts'

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
export function openNodes({ engine, query, beat }: DurableStore): Nodes {
  const { leaseClock, jsonRow, jsonRows } = engine.dialect
  // An expiry further away than the TTL was written before a reboot, which resets the clock.
  const isExpired = `(expires_at <= ${leaseClock} OR expires_at > ${leaseClock} + ?)`
  const listed = `(SELECT CAST(${jsonRows}(${jsonRow}(id, address, agent_address,
    CASE WHEN ${isExpired} THEN 1 ELSE 0 END)) AS TEXT) FROM nodes) AS listed`
  const register = `INSERT INTO nodes (id, address, agent_address, expires_at) VALUES (?, ?, ?, ${leaseClock} + ?)
    ON CONFLICT (id) DO UPDATE SET address = excluded.address, agent_address = excluded.agent_address,
      expires_at = excluded.expires_at RETURNING ${listed}`

  return {
    async heartbeat({ id, address, agentAddress = '' }, { ttlMs, expire }) {
      const record = await beat((sql) =>
        address === undefined
          ? sql.get(`SELECT ${listed}`, ttlMs)
          : sql.get(register, id, address, agentAddress, ttlMs, ttlMs),
      )
      const others = (JSON.parse(String(record?.listed ?? '[]')) as ListedNode[]).filter(
        ([other]) => other !== id,
      )
      const expired = expire ? others.filter(([, , , isExpired]) => isExpired === 1) : []
      // Checked again: one of them may have renewed its registration meanwhile.
      if (expired.length > 0) await beat((sql) => sql.run(`DELETE FROM nodes WHERE ${isExpired}`, ttlMs))
      return others.filter((node) => !expired.includes(node)).map(toNode)
    },

    list: () =>
      query(async (sql) => {
        const rows = await sql.tuples('SELECT id, address, agent_address FROM nodes ORDER BY id')
        return rows.map(([id, address, agentAddress]) =>
          toNode([String(id), String(address), String(agentAddress)]),
        )
      }),

    async leave(id) {
      await beat((sql) => sql.run('DELETE FROM nodes WHERE id = ?', id))
    },
  }
}

type ListedNode = readonly [id: string, address: string, agentAddress: string, isExpired?: 0 | 1]

function toNode([id, address, agentAddress]: ListedNode): NodeRecord {
  return { id, address, agentAddress: agentAddress || undefined }
}

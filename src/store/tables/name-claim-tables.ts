import type { Dialect, Sql } from '../engine/sql.ts'
import type { NameClaim, NameClaimRequest } from '../name-claim-rules.ts'
import { isLeased } from '../write/leases.ts'
import { CLAIM_COLUMNS, CLAIM_LIST } from '../write/name-use.ts'

/** A node of this database and the duration of its lease. */
export interface NameNode {
  readonly id: string
  readonly leaseMs: number
}

/** The release of a claim. */
export interface NameRelease {
  readonly tunnel: string
  /** The session was lost: the name is reserved for its credential during the grace period. */
  readonly inGrace: boolean
}

/** The claims to write. */
export interface ClaimBatch {
  readonly granted: readonly NameClaim[]
  /** Tunnels whose claims are deleted. */
  readonly replaced: readonly string[]
  /** The last fence assigned. */
  readonly fence: number
}

/** The row of the table `leases` that counts the fences of all claims. */
const FENCE_LEASE = 'naming.fence'

/** The statements on the tables of name claims; each transaction of `name-claims.ts` consists of a few. */
export class NameClaimTables {
  readonly #dialect: Dialect

  constructor(dialect: Dialect) {
    this.#dialect = dialect
  }

  /** The time of the database, in milliseconds since 1970. */
  async readWallClock(sql: Sql): Promise<number> {
    return Number((await sql.get(`SELECT ${this.#dialect.wallClock} AS wall`))?.wall)
  }

  /** Renews the lease of a node if it is valid, and so are those of all others. */
  async renewIfAllAlive(sql: Sql, { id, leaseMs }: NameNode): Promise<boolean> {
    const changed = await sql.run(
      `UPDATE name_nodes SET expires_at = ${this.#dialect.leaseClock} + ? WHERE node = ?
       AND NOT EXISTS (SELECT 1 FROM name_nodes AS each WHERE NOT ${isLeased(this.#dialect, 'each')})`,
      leaseMs,
      id,
    )
    return changed > 0
  }

  /** Begins or renews the lease of a node. */
  async takeLease(sql: Sql, { id, leaseMs }: NameNode): Promise<void> {
    await sql.run(
      `INSERT INTO name_nodes (node, ttl, expires_at) VALUES (?, ?, ${this.#dialect.leaseClock} + ?)
       ON CONFLICT (node) DO UPDATE SET ttl = excluded.ttl, expires_at = excluded.expires_at`,
      id,
      leaseMs,
      leaseMs,
    )
  }

  /** Releases the names of nodes and deletes their leases. */
  async releaseNodes(sql: Sql, nodes: readonly string[]): Promise<void> {
    if (nodes.length === 0) return
    const { unnest, wallClock } = this.#dialect
    const dead = JSON.stringify(nodes)
    await sql.run(
      `UPDATE name_claims SET released_at = ${wallClock}, kept = 1
       WHERE released_at IS NULL AND node IN (${unnest})`,
      dead,
    )
    await sql.run(`DELETE FROM name_nodes WHERE node IN (${unnest})`, dead)
  }

  /** Releases the claims of these tunnels. */
  async release(sql: Sql, releases: readonly NameRelease[]): Promise<void> {
    const { unnest, wallClock } = this.#dialect
    const text = `UPDATE name_claims SET released_at = ${wallClock}, kept = ?
      WHERE released_at IS NULL AND tunnel IN (${unnest})`
    const tunnels = (inGrace: boolean) =>
      releases.filter((each) => each.inGrace === inGrace).map(({ tunnel }) => tunnel)
    const [lost, ended] = [tunnels(true), tunnels(false)]
    await Promise.all([
      lost.length > 0 && sql.run(text, 1, JSON.stringify(lost)),
      ended.length > 0 && sql.run(text, 0, JSON.stringify(ended)),
    ])
  }

  /** Reads what a batch of claims is decided on; nothing when the batch is empty. */
  async readClaims(sql: Sql, requests: readonly NameClaimRequest[]) {
    if (requests.length === 0) return { wallMs: 0, rows: [], fence: 0 }
    const names = JSON.stringify([...new Set(requests.map(({ name }) => name))])
    const [wallMs, rows, counter] = await Promise.all([
      this.readWallClock(sql),
      sql.all(`SELECT ${CLAIM_LIST} FROM name_claims WHERE name IN (${this.#dialect.unnest})`, names),
      sql.get('SELECT fence FROM leases WHERE name = ?', FENCE_LEASE),
    ])
    return { wallMs, rows, fence: Number(counter?.fence ?? 0) }
  }

  /** Writes the granted claims of a batch in place of those that they replace. */
  async writeClaims(sql: Sql, node: NameNode, batch: ClaimBatch): Promise<void> {
    const { granted, replaced, fence } = batch
    if (granted.length === 0) return
    await Promise.all([
      replaced.length > 0 &&
        sql.run(
          `DELETE FROM name_claims WHERE tunnel IN (${this.#dialect.unnest})`,
          JSON.stringify(replaced),
        ),
      sql.apply({
        table: 'name_claims',
        columns: CLAIM_COLUMNS,
        rows: granted.map((claim) => [
          ...[claim.name, claim.listener, claim.tunnel, claim.account, node.id, claim.session, claim.bind],
          ...[claim.credential, claim.client, claim.proto, claim.pooled ? 1 : 0, claim.fence, null, 0],
        ]),
      }),
      sql.run(
        `INSERT INTO leases (name, holder, fence, ttl, expires_at) VALUES (?, '', ?, 0, 0)
         ON CONFLICT (name) DO UPDATE SET fence = excluded.fence`,
        FENCE_LEASE,
        fence,
      ),
    ])
  }

  /** The nodes, grouped by whether their lease is valid. */
  async readNodes(sql: Sql) {
    // Locked, because a node renews its lease without waiting for this transaction.
    const rows = await sql.all(
      `SELECT node, CASE WHEN ${isLeased(this.#dialect, 'name_nodes')} THEN 1 ELSE 0 END AS alive
       FROM name_nodes ${this.#dialect.lockRows}`,
    )
    const ids = (alive: 0 | 1) => rows.filter((row) => row.alive === alive).map(({ node }) => String(node))
    return { alive: new Set(ids(1)), dead: ids(0) }
  }

  /** Releases the names of nodes that have no lease. */
  async releaseUnknownNodes(sql: Sql): Promise<void> {
    await sql.run(
      `UPDATE name_claims SET released_at = ${this.#dialect.wallClock}, kept = 1
       WHERE released_at IS NULL AND node NOT IN (SELECT node FROM name_nodes)`,
    )
  }
}

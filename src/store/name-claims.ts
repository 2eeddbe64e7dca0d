import type { MaybePromise } from '../base/maybe-promise.ts'
import type { DurableStore } from './durable-store.ts'
import { isLeased } from './leases.ts'
import {
  decideNameClaim,
  isUnavailableToOthers,
  type NameClaim,
  type NameClaimOutcome,
  type NameClaimRequest,
  type NameListener,
  type NameSpans,
} from './name-claim-rules.ts'
import { CLAIM_COLUMNS, CLAIM_LIST } from './name-use.ts'
import type { Sql, SqlRecord } from './sql.ts'

/** The release of a claim. */
export interface NameRelease {
  readonly tunnel: string
  /** The session was lost: the name is reserved for its credential during the grace period. */
  readonly inGrace: boolean
}

/** A node of this database and the duration of its lease. */
export interface NameNode {
  readonly id: string
  readonly leaseMs: number
}

/**
 * Which node holds which public name. A claim is one row and is valid while the lease of its node is, so that a node renews
 * all its claims with one row. Write transactions are serialised, so that a decision holds until its commit.
 */
export interface NameClaimRows {
  /**
   * Releases, then claims, in one transaction. `lost`: the lease of this node had expired, so that other nodes may have
   * taken its earlier claims.
   */
  change(
    node: NameNode,
    changes: { claims: readonly NameClaimRequest[]; releases: readonly NameRelease[] },
    spans: NameSpans,
  ): Promise<{ outcomes: readonly NameClaimOutcome[]; lost: boolean }>
  /** Renews the lease of a node, and releases the names of nodes whose lease has expired. */
  renew(node: NameNode): Promise<{ lost: boolean }>
  /** Acquires the lease of a starting node; releases the names of its previous processes and of unknown nodes. */
  join(node: NameNode, formerPrefix: string): Promise<void>
  /** Releases all claims of a node, and its lease. */
  leave(node: NameNode): Promise<void>
  /** `own`: TCP ports the account has used that are free now. `others`: ports that are unavailable to it. */
  ports(account: string, spans: NameSpans): Promise<{ own: number[]; others: number[] }>
  /** Sets whether other tunnels of the account may share the name. */
  setPooled(tunnel: string, pooled: boolean): Promise<void>
  /** Ends the grace periods of a deleted credential. */
  forgetCredential(credential: string): Promise<void>
  /** Deletes released claims after grace period and cooldown, and the oldest beyond `maxReleased` per account. */
  sweep(spans: NameSpans, maxReleased: number): Promise<void>
}

type ClaimSql = Sql & { now(): MaybePromise<number> }

/** The row of the table `leases` that counts the fences of all claims. */
const FENCE_LEASE = 'naming.fence'
const SWEEP_BATCH_SIZE = 2_000

/** Opens the name claims of a store. */
export function openNameClaims(store: DurableStore): NameClaimRows {
  const { inTransaction, engine } = store
  const { dialect } = engine
  const { unnest, wallClock } = dialect
  const readWallClock = async (sql: Sql) => Number((await sql.get(`SELECT ${wallClock} AS wall`))?.wall)

  async function renewLease(sql: ClaimSql, { id, leaseMs }: NameNode, now: number): Promise<void> {
    await sql.run(
      `INSERT INTO name_nodes (node, ttl, expires_at) VALUES (?, ?, ?)
       ON CONFLICT (node) DO UPDATE SET ttl = excluded.ttl, expires_at = excluded.expires_at`,
      id,
      leaseMs,
      now + leaseMs,
    )
  }

  /** Releases the names of nodes and deletes their leases. */
  async function releaseNodes(sql: ClaimSql, nodes: readonly string[]): Promise<void> {
    if (nodes.length === 0) return
    const dead = JSON.stringify(nodes)
    await sql.run(
      `UPDATE name_claims SET released_at = ${wallClock}, kept = 1
       WHERE released_at IS NULL AND node IN (${unnest})`,
      dead,
    )
    await sql.run(`DELETE FROM name_nodes WHERE node IN (${unnest})`, dead)
  }

  async function release(sql: ClaimSql, releases: readonly NameRelease[]): Promise<void> {
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
  async function readClaims(sql: ClaimSql, requests: readonly NameClaimRequest[]) {
    if (requests.length === 0) return { wallMs: 0, rows: [], fence: 0 }
    const names = JSON.stringify([...new Set(requests.map(({ name }) => name))])
    const [wallMs, rows, counter] = await Promise.all([
      readWallClock(sql),
      sql.all(`SELECT ${CLAIM_LIST} FROM name_claims WHERE name IN (${unnest})`, names),
      sql.get('SELECT fence FROM leases WHERE name = ?', FENCE_LEASE),
    ])
    return { wallMs, rows, fence: Number(counter?.fence ?? 0) }
  }

  async function writeClaims(sql: ClaimSql, node: NameNode, batch: Batch): Promise<void> {
    const { granted, replaced, fence } = batch
    if (granted.length === 0) return
    await Promise.all([
      replaced.length > 0 &&
        sql.run(`DELETE FROM name_claims WHERE tunnel IN (${unnest})`, JSON.stringify(replaced)),
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
  async function readNodes(sql: ClaimSql) {
    const [now, rows] = await Promise.all([
      sql.now(),
      sql.all('SELECT node, ttl, expires_at FROM name_nodes'),
    ])
    const ids = (alive: boolean) =>
      rows.filter((row) => isLeased(row, now) === alive).map(({ node }) => String(node))
    return { now, alive: new Set(ids(true)), dead: ids(false) }
  }

  return {
    change: (node, { claims, releases }, spans) =>
      inTransaction(async (sql) => {
        // Pipelined: a connection executes in order, so the later reads see the releases.
        const [{ now, alive, dead }, , snapshot] = await Promise.all([
          readNodes(sql),
          release(sql, releases),
          readClaims(sql, claims),
        ])
        const existing = snapshot.rows.map((row) => toNameClaim(row, alive, snapshot.wallMs))
        const batch = decideBatch(claims, existing, { ...snapshot, spans })
        // Before the claims, so that the grace period begins now and does not restart with every claim.
        await releaseNodes(
          sql,
          dead.filter((id) => id !== node.id),
        )
        await Promise.all([writeClaims(sql, node, batch), renewLease(sql, node, now)])
        return { outcomes: batch.outcomes, lost: !alive.has(node.id) }
      }),

    renew: (node) =>
      inTransaction(async (sql) => {
        const { now, alive, dead } = await readNodes(sql)
        await releaseNodes(
          sql,
          dead.filter((id) => id !== node.id),
        )
        await renewLease(sql, node, now)
        return { lost: !alive.has(node.id) }
      }),

    join: (node, formerPrefix) =>
      inTransaction(async (sql) => {
        const { now, alive, dead } = await readNodes(sql)
        const formerNodes = [...alive].filter((id) => id.startsWith(formerPrefix))
        await releaseNodes(sql, [...dead, ...formerNodes])
        await sql.run(
          `UPDATE name_claims SET released_at = ${wallClock}, kept = 1
           WHERE released_at IS NULL AND node NOT IN (SELECT node FROM name_nodes)`,
        )
        await renewLease(sql, node, now)
      }),

    leave: (node) =>
      inTransaction(async (sql) => {
        await releaseNodes(sql, [node.id])
      }),

    async ports(account, spans) {
      const sql = engine.reader
      const wallMs = await readWallClock(sql)
      const rows = await sql.all(
        `SELECT ${CLAIM_LIST} FROM name_claims WHERE name >= 'tcp:' AND name < 'tcp;' AND listener = 'tcp'`,
      )
      const claims = rows.map((row) => toNameClaim(row, undefined, wallMs))
      const own = claims.filter((each) => each.account === account && each.releasedAt !== undefined)
      const others = claims.filter(
        (each) =>
          each.releasedAt === undefined ||
          (each.account !== account && isUnavailableToOthers(each, wallMs, spans)),
      )
      return { own: own.map(toPort), others: others.map(toPort) }
    },

    async setPooled(tunnel, pooled) {
      await inTransaction(async (sql) =>
        sql.run('UPDATE name_claims SET pooled = ? WHERE tunnel = ?', pooled ? 1 : 0, tunnel),
      )
    },

    async forgetCredential(credential) {
      await inTransaction((sql) =>
        Promise.resolve(
          sql.run('UPDATE name_claims SET kept = 0 WHERE kept = 1 AND credential = ?', credential),
        ),
      )
    },

    async sweep({ graceMs, cooldownMs }, maxReleased) {
      const cutoff = (await readWallClock(engine.reader)) - Math.max(graceMs, cooldownMs)
      await deleteReleased(store, 'released_at <= ?', cutoff)
      for (const { account, releasedAt } of await readExcess(engine.reader, maxReleased))
        await deleteReleased(store, 'account = ? AND released_at <= ?', account, releasedAt)
    },
  }
}

/** Deletes released claims in batches, so that no transaction is long. */
async function deleteReleased(
  { inTransaction }: DurableStore,
  condition: string,
  ...values: (string | number)[]
): Promise<void> {
  const text = `DELETE FROM name_claims WHERE (name, listener, tunnel) IN
    (SELECT name, listener, tunnel FROM name_claims WHERE ${condition} LIMIT ${SWEEP_BATCH_SIZE})`
  let deleted: number
  do deleted = await inTransaction(async (sql) => sql.run(text, ...values))
  while (deleted === SWEEP_BATCH_SIZE)
}

/** The accounts with more released claims than this, and the time of release of the newest beyond it. */
async function readExcess(sql: Sql, maxReleased: number): Promise<{ account: string; releasedAt: number }[]> {
  const rows = await sql.all(
    `SELECT account, count(*) - ? AS excess FROM name_claims WHERE released_at IS NOT NULL
     GROUP BY account HAVING count(*) > ?`,
    maxReleased,
    maxReleased,
  )
  return Promise.all(
    rows.map(async ({ account, excess }) => {
      const newest = await sql.get(
        `SELECT released_at FROM name_claims WHERE account = ? AND released_at IS NOT NULL
         ORDER BY released_at LIMIT 1 OFFSET ?`,
        String(account),
        Number(excess) - 1,
      )
      return { account: String(account), releasedAt: Number(newest?.released_at ?? 0) }
    }),
  )
}

function toNameClaim(row: SqlRecord, alive: ReadonlySet<string> | undefined, wallMs: number): NameClaim {
  const dead = row.released_at === null && alive !== undefined && !alive.has(String(row.node))
  return {
    name: String(row.name),
    listener: row.listener as NameListener,
    tunnel: String(row.tunnel),
    account: String(row.account),
    credential: String(row.credential),
    client: String(row.client),
    session: String(row.session),
    bind: String(row.bind),
    proto: String(row.proto),
    pooled: row.pooled === 1,
    fence: Number(row.fence),
    releasedAt: dead ? wallMs : row.released_at === null ? undefined : Number(row.released_at),
    inGrace: dead || row.kept === 1,
  }
}

function toPort({ name }: NameClaim): number {
  return Number(name.slice('tcp:'.length))
}

/** The decisions on a batch of claims. */
interface Batch {
  readonly outcomes: readonly NameClaimOutcome[]
  readonly granted: readonly NameClaim[]
  /** Tunnels whose claims are deleted. */
  readonly replaced: readonly string[]
  /** The last fence assigned. */
  readonly fence: number
}

function decideBatch(
  requests: readonly NameClaimRequest[],
  existing: readonly NameClaim[],
  { wallMs, fence: lastFence, spans }: { wallMs: number; fence: number; spans: NameSpans },
): Batch {
  const byName = Map.groupBy(existing, ({ name }) => name)
  const granted = new Map<string, NameClaim>()
  const replaced: string[] = []
  let fence = lastFence
  const outcomes = requests.map((request): NameClaimOutcome => {
    const claims = byName.get(request.name) ?? []
    const decision = decideNameClaim(request, claims, wallMs, spans)
    if (!decision.granted) return decision
    const claim = { ...request, fence: decision.fence ?? ++fence, releasedAt: undefined, inGrace: false }
    for (const replacedClaim of decision.replaced) {
      replaced.push(replacedClaim.tunnel)
      granted.delete(replacedClaim.tunnel)
    }
    granted.set(claim.tunnel, claim)
    byName.set(request.name, [
      ...claims.filter((replacedClaim) => !decision.replaced.includes(replacedClaim)),
      claim,
    ])
    return { granted: true, fence: claim.fence }
  })
  return { outcomes, granted: [...granted.values()], replaced, fence }
}

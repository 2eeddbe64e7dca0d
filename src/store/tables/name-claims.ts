import type { DurableStore } from '../durable-store.ts'
import { leaveToCommit, type Sql, type SqlRecord } from '../engine/sql.ts'
import {
  decideNameClaim,
  isUnavailableToOthers,
  type NameClaim,
  type NameClaimOutcome,
  type NameClaimRequest,
  type NameListener,
  type NameSpans,
} from '../name-claim-rules.ts'
import { CLAIM_LIST } from '../write/name-use.ts'
import { type ClaimBatch, NameClaimTables, type NameNode, type NameRelease } from './name-claim-tables.ts'

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
  ports(account: string, spans: NameSpans): Promise<{ reusable: number[]; unavailable: number[] }>
  /** Sets whether other tunnels of the account may share the name. */
  setPooled(tunnel: string, pooled: boolean): Promise<void>
  /** Ends the grace periods of a deleted credential. */
  forgetCredential(credential: string): Promise<void>
  /** Deletes released claims after grace period and cooldown, and the oldest beyond `maxReleased` per account. */
  sweep(spans: NameSpans, maxReleased: number): Promise<void>
}

const SWEEP_BATCH_SIZE = 2_000

/** Opens the name claims of a store. */
export function openNameClaims(store: DurableStore): NameClaimRows {
  const { inTransaction, engine } = store
  const tables = new NameClaimTables(engine.dialect)

  return {
    change: (node, { claims, releases }, spans) =>
      inTransaction(async (sql) => {
        // Pipelined: a connection executes in order, so the later reads see the releases.
        const [{ alive, dead }, , snapshot] = await Promise.all([
          tables.readNodes(sql),
          tables.release(sql, releases),
          tables.readClaims(sql, claims),
        ])
        const existing = snapshot.rows.map((row) => toNameClaim(row, alive, snapshot.wallMs))
        const batch = decideBatch(claims, existing, { ...snapshot, spans })
        // Before the claims, so that the grace period begins now and does not restart with every claim.
        await tables.releaseNodes(
          sql,
          dead.filter((id) => id !== node.id),
        )
        leaveToCommit(Promise.all([tables.writeClaims(sql, node, batch), tables.takeLease(sql, node)]))
        return { outcomes: batch.outcomes, lost: !alive.has(node.id) }
      }),

    async renew(node) {
      if (await store.beat((sql) => tables.renewIfAllAlive(sql, node))) return { lost: false }
      return inTransaction(async (sql) => {
        const { alive, dead } = await tables.readNodes(sql)
        await tables.releaseNodes(
          sql,
          dead.filter((id) => id !== node.id),
        )
        await tables.takeLease(sql, node)
        return { lost: !alive.has(node.id) }
      })
    },

    join: (node, formerPrefix) =>
      inTransaction(async (sql) => {
        const { alive, dead } = await tables.readNodes(sql)
        const formerNodes = [...alive].filter((id) => id.startsWith(formerPrefix))
        await tables.releaseNodes(sql, [...dead, ...formerNodes])
        await tables.releaseUnknownNodes(sql)
        await tables.takeLease(sql, node)
      }),

    leave: (node) =>
      inTransaction(async (sql) => {
        await tables.releaseNodes(sql, [node.id])
      }),

    async ports(account, spans) {
      const sql = engine.reader
      const wallMs = await tables.readWallClock(sql)
      const rows = await sql.all(
        `SELECT ${CLAIM_LIST} FROM name_claims WHERE name >= 'tcp:' AND name < 'tcp;' AND listener = 'tcp'`,
      )
      const claims = rows.map((row) => toNameClaim(row, undefined, wallMs))
      const reusable = claims.filter((each) => each.account === account && each.releasedAt !== undefined)
      const unavailable = claims.filter(
        (each) =>
          each.releasedAt === undefined ||
          (each.account !== account && isUnavailableToOthers(each, wallMs, spans)),
      )
      return { reusable: reusable.map(toPort), unavailable: unavailable.map(toPort) }
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
      const cutoff = (await tables.readWallClock(engine.reader)) - Math.max(graceMs, cooldownMs)
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
interface DecidedBatch extends ClaimBatch {
  readonly outcomes: readonly NameClaimOutcome[]
}

function decideBatch(
  requests: readonly NameClaimRequest[],
  existing: readonly NameClaim[],
  { wallMs, fence: lastFence, spans }: { wallMs: number; fence: number; spans: NameSpans },
): DecidedBatch {
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

import type { Logger } from '../base/process/log.ts'
import type { Clock } from '../base/values/clock.ts'
import { reverseLabels } from '../base/values/domain.ts'
import {
  type NameClaimOutcome,
  type NameClaimRequest,
  type NameClaimRows,
  type NameListener,
  type NameSpans,
  StoreUnavailable,
} from '../store/index.ts'
import type { EndpointAddress, TcpAddress } from './address.ts'
import { Releases } from './releases.ts'

/** Grace period: how long the names of a lost session stay reserved for its credential (decision 31). */
export const GRACE_MS = 60_000

/** The claim was not granted. */
export class ClaimRejected extends Error {
  override name = 'ClaimRejected'
  /** As in the store; `unavailable`: the database is unavailable and the name was not held before. */
  readonly because: 'held' | 'in_grace' | 'cooldown' | 'unavailable'
  /** The sessions that hold the name, when they belong to the same account. */
  readonly holders: readonly { readonly session: string; readonly credential: string }[]

  constructor(because: ClaimRejected['because'], holders: ClaimRejected['holders'] = []) {
    super(`The name was not claimed: ${because}.`)
    this.because = because
    this.holders = holders
  }
}

export interface NameClaimsOptions {
  readonly rows: NameClaimRows
  /** Stable across restarts, so that a start takes over the claims left by a crash. */
  readonly nodeId: string
  /** New for every start. */
  readonly startId: string
  readonly spans: NameSpans
  readonly clock: Clock
  readonly log: Logger
  readonly limits?: Partial<NameClaimLimits>
}

/** The tunnels that claims are made for. */
export interface ClaimHolder {
  /** A provisional or renewed claim got its fence. */
  confirm(account: string, session: string, tunnel: string, fence: number): void
  /** Another session holds the name; the tunnel must be removed. */
  revoke(account: string, session: string, tunnel: string): void
}

export interface NameClaimLimits {
  /** Lifetime of the node's lease, which covers all its claims. */
  leaseMs: number
  renewMs: number
  /** Retry interval while the database is unavailable. */
  retryMs: number
  /** A stall of this process after which claims are verified before they are served; well below `leaseMs`. */
  stallMs: number
  sweepMs: number
  /** Released names in cooldown that each account may have. */
  maxReleased: number
}

const LIMITS: NameClaimLimits = {
  leaseMs: 10_000,
  renewMs: 3_000,
  retryMs: 1_000,
  stallMs: 5_000,
  sweepMs: 60_000,
  maxReleased: 10_000,
}

const TICK_INTERVAL_MS = 250
/** Failed verifications after a stall before the database counts as unavailable. */
const MAX_VERIFICATIONS = 4
/** A batch blocks the event loop with the embedded database. */
const MAX_BATCH = 200
/** The fence of a claim made while the database was unavailable: lower than any that it issues. */
const PROVISIONAL_FENCE = 0

interface PendingClaim {
  readonly request: NameClaimRequest
  readonly heldBefore: boolean
  resolve(fence: number): void
  reject(error: Error): void
}

interface HeldClaim {
  readonly request: NameClaimRequest
  fence: number
}

/**
 * The public names claimed by this node. A name is claimed in the database before it is served; concurrent claims share one
 * transaction, and one lease of the node covers all of them. While the database is unavailable, only names held before can
 * be claimed, provisionally; such claims are confirmed once it is back. Decisions 123 and 124.
 */
export class NameClaims {
  readonly #options: NameClaimsOptions
  readonly #limits: NameClaimLimits
  readonly #node: { readonly id: string; readonly leaseMs: number }
  readonly #claims = new Map<string, HeldClaim>()
  readonly #releases = new Releases()
  /** Tunnels already reclaimed since `#pendingReclaim` was set. */
  readonly #reclaimed = new Set<string>()
  #pending: PendingClaim[] = []
  #pendingReclaim: 'nothing' | 'provisional' | 'all' = 'nothing'
  #batchWork: Promise<void> | undefined
  #renewing: Promise<void> | undefined
  #joined = false
  #unavailable = false
  #verified = true
  /** Number of stalls, so that a verification started before one does not count after it. */
  #stalls = 0
  #failedVerifications = 0
  #tickedAt: number
  #renewedAt: number
  #timers: NodeJS.Timeout[] = []
  #holder: ClaimHolder | undefined

  constructor(options: NameClaimsOptions) {
    this.#options = options
    this.#limits = { ...LIMITS, ...options.limits }
    this.#node = { id: `${options.nodeId}/${options.startId}`, leaseMs: this.#limits.leaseMs }
    this.#tickedAt = options.clock.monotonic()
    this.#renewedAt = this.#tickedAt
  }

  /** Joins the nodes that hold claims; `holder` is told what becomes of the claims made for its tunnels. */
  async start(holder: ClaimHolder): Promise<void> {
    this.#holder = holder
    await this.#renew()
    this.#timers = [
      setInterval(() => this.#tick(), TICK_INTERVAL_MS),
      setInterval(() => void this.#sweep(), this.#limits.sweepMs),
    ]
    for (const timer of this.#timers) timer.unref()
  }

  /** Releases every remaining claim. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#renewing
    await this.settled()
    await this.#options.rows
      .leave(this.#node)
      .catch((error) => this.#options.log.debug({ err: error }, 'name claims not released at stop'))
  }

  /**
   * False after a stall of this process so long that other nodes may have claimed its names, until the database has
   * confirmed which it still holds. Read for every connection.
   */
  get serving(): boolean {
    return this.#verified && this.#options.clock.monotonic() - this.#tickedAt < this.#limits.stallMs
  }

  /**
   * Claims a name and returns its fence; throws `ClaimRejected`. `heldBefore`: the session proved that it held the name,
   * which suffices while the database is unavailable.
   */
  claim(request: NameClaimRequest, heldBefore: boolean): Promise<number> {
    return new Promise((resolve, reject) => {
      const pending = { request, heldBefore, resolve, reject }
      if (this.#unavailable) {
        this.#settleWithoutDatabase(pending)
        return
      }
      this.#pending.push(pending)
      this.#startBatches()
    })
  }

  /** Releases the claim of a tunnel that stopped or was never published. */
  release(tunnel: string, inGrace: boolean): void {
    const claim = this.#claims.get(tunnel)
    if (claim === undefined) return
    this.#claims.delete(tunnel)
    this.#releases.add({ request: claim.request, inGrace, wasHeld: true })
    if (!this.#unavailable) this.#startBatches()
  }

  /** Allows or forbids pooling on the tunnel's name. */
  setPooled(tunnel: string, pooled: boolean): void {
    const claim = this.#claims.get(tunnel)
    if (claim === undefined || claim.request.pooled === pooled) return
    this.#claims.set(tunnel, { request: { ...claim.request, pooled }, fence: claim.fence })
    this.#options.rows
      .setPooled(tunnel, pooled)
      .catch((error) => this.#options.log.warn({ err: error, tunnel }, 'name pooling not stored'))
  }

  /** Ends the grace periods of a deleted credential's names. */
  forgetCredential(credential: string): void {
    this.#options.rows
      .forgetCredential(credential)
      .catch((error) =>
        this.#options.log.warn({ err: error, credential }, 'names of a deleted credential not freed'),
      )
  }

  /** Resolves once all releases so far are stored, or the database is unavailable. */
  async settled(): Promise<void> {
    while (this.#batchWork !== undefined) await this.#batchWork
  }

  /** Free TCP ports that the account used before (`reusable`), and ports it cannot claim now (`unavailable`). */
  async ports(account: string): Promise<{ reusable: readonly number[]; unavailable: readonly number[] }> {
    try {
      return await this.#options.rows.ports(account, this.#options.spans)
    } catch (error) {
      if (error instanceof StoreUnavailable) throw new ClaimRejected('unavailable')
      throw error
    }
  }

  #tick(): void {
    const now = this.#options.clock.monotonic()
    const { stallMs, retryMs, renewMs } = this.#limits
    if (now - this.#tickedAt >= stallMs) {
      this.#verified = false
      this.#stalls++
      this.#failedVerifications = 0
    }
    this.#tickedAt = now
    const due = now - this.#renewedAt >= (this.#unavailable ? retryMs : renewMs)
    if (!this.#verified || (due && (this.#unavailable || this.#claims.size > 0))) void this.#renew()
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#renewOnce().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renewOnce(): Promise<void> {
    const { rows, nodeId, log, clock } = this.#options
    const stalls = this.#stalls
    try {
      // The first contact takes over the claims left by an earlier process of this node.
      const { lost } = this.#joined
        ? await rows.renew(this.#node)
        : await rows.join(this.#node, `${nodeId}/`).then(() => ({ lost: false }))
      this.#joined = true
      if (this.#unavailable)
        log.info({ names: this.#claims.size }, 'database available again: confirming name claims')
      this.#unavailable = false
      if (lost) this.#reclaimAll()
      else if (this.#pendingReclaim === 'nothing') this.#pendingReclaim = 'provisional'
      this.#startBatches()
      await this.settled()
      if (stalls === this.#stalls) this.#verified = true
    } catch (error) {
      this.#onFailure(error)
      // After a stall the database connections are broken, which does not mean that the database is unavailable.
      if (++this.#failedVerifications >= MAX_VERIFICATIONS) this.#verified = true
    }
    this.#renewedAt = clock.monotonic()
  }

  #onFailure(error: unknown): void {
    const { log } = this.#options
    if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'name claims failed')
    else if (!this.#unavailable)
      log.warn({ err: error }, 'database unavailable: only names held before can be bound')
    this.#unavailable = true
    if (this.#pending.length > 0) this.#startBatches()
  }

  async #sweep(): Promise<void> {
    const { rows, spans, log } = this.#options
    try {
      // A node without names also releases those of dead nodes.
      await this.#renew()
      if (!this.#unavailable) await rows.sweep(spans, this.#limits.maxReleased)
    } catch (error) {
      log.warn({ err: error }, 'released name claims not swept')
    }
  }

  #startBatches(): void {
    this.#batchWork ??= this.#runBatches()
  }

  async #runBatches(): Promise<void> {
    // Claims made in the same tick share a transaction.
    await Promise.resolve()
    while (!this.#unavailable && this.#hasWork()) {
      const pending = this.#pending.splice(0, MAX_BATCH)
      const reclaims = this.#takeReclaims(MAX_BATCH - pending.length)
      const releases = this.#releases.first(MAX_BATCH)
      try {
        const { outcomes, lost } = await this.#options.rows.change(
          this.#node,
          {
            claims: [...reclaims.map(({ request }) => request), ...pending.map(({ request }) => request)],
            releases: releases.map(([tunnel, { inGrace }]) => ({ tunnel, inGrace })),
          },
          this.#options.spans,
        )
        for (const [tunnel, release] of releases) this.#releases.delete(tunnel, release)
        for (const [index, claim] of reclaims.entries()) this.#settleReclaim(claim, outcomes[index]!)
        for (const [index, claim] of pending.entries())
          this.#settle(claim, outcomes[reclaims.length + index]!)
        if (lost && this.#claims.size > 0) this.#reclaimAll()
      } catch (error) {
        this.#onFailure(error)
        const rejected = pending.filter((claim) => !this.#settleWithoutDatabase(claim))
        // The claim may have been stored, so release it as soon as the database is available.
        for (const { request } of rejected) this.#releases.add({ request, inGrace: false, wasHeld: false })
        if (reclaims.length > 0) this.#reclaimAll()
      }
    }
    for (const claim of this.#pending.splice(0)) this.#settleWithoutDatabase(claim)
    // In the same tick as the last check for work, so nothing can arrive in between.
    this.#batchWork = undefined
  }

  #hasWork(): boolean {
    return this.#pending.length > 0 || this.#releases.size > 0 || this.#pendingReclaim !== 'nothing'
  }

  #reclaimAll(): void {
    this.#pendingReclaim = 'all'
    this.#reclaimed.clear()
  }

  /** The next names to reclaim, each once. */
  #takeReclaims(limit: number): HeldClaim[] {
    if (this.#pendingReclaim === 'nothing') return []
    const reclaims: HeldClaim[] = []
    for (const claim of this.#claims.values()) {
      if (reclaims.length === limit) return reclaims
      if (this.#reclaimed.has(claim.request.tunnel)) continue
      if (this.#pendingReclaim === 'provisional' && claim.fence !== PROVISIONAL_FENCE) continue
      this.#reclaimed.add(claim.request.tunnel)
      reclaims.push(claim)
    }
    this.#pendingReclaim = 'nothing'
    this.#reclaimed.clear()
    return reclaims
  }

  #settle({ request, resolve, reject }: PendingClaim, outcome: NameClaimOutcome): void {
    if (!outcome.granted) {
      reject(new ClaimRejected(outcome.reason, outcome.holders))
      return
    }
    this.#claims.set(request.tunnel, { request, fence: outcome.fence })
    resolve(outcome.fence)
  }

  #settleReclaim(claim: HeldClaim, outcome: NameClaimOutcome): void {
    const { request } = claim
    const { account, session, tunnel } = request
    if (this.#claims.get(request.tunnel) !== claim) {
      // Released meanwhile, and perhaps claimed again.
      if (outcome.granted && !this.#claims.has(request.tunnel))
        this.#releases.add({ request, inGrace: false, wasHeld: true })
    } else if (outcome.granted) {
      claim.fence = outcome.fence
      this.#holder?.confirm(account, session, tunnel, outcome.fence)
    } else {
      this.#options.log.warn(
        { name: request.name, tunnel, account, session, because: outcome.reason },
        'name claim lost',
      )
      this.#claims.delete(tunnel)
      this.#holder?.revoke(account, session, tunnel)
    }
  }

  /** Grants a provisional claim; false when it is rejected. */
  #settleWithoutDatabase({ request, heldBefore, resolve, reject }: PendingClaim): boolean {
    if (!heldBefore && !this.#releases.hasHolder(request)) {
      reject(new ClaimRejected('unavailable'))
      return false
    }
    this.#releases.delete(request.tunnel)
    this.#claims.set(request.tunnel, { request, fence: PROVISIONAL_FENCE })
    resolve(PROVISIONAL_FENCE)
    return true
  }
}

/** Prefix of the names of TCP port claims. */
export const TCP_CLAIM_PREFIX = 'tcp:'

/** The name and listener of the claim on an address. */
export function claimNameOf(
  address:
    | Pick<EndpointAddress, 'proto' | 'host' | 'port' | 'internalTo'>
    | (Pick<TcpAddress, 'proto' | 'port'> & { readonly internalTo?: undefined }),
): {
  name: string
  listener: NameListener
} {
  const { proto, port, internalTo } = address
  const listener = proto === 'tls' ? 'https' : proto
  if (internalTo !== undefined) {
    // Every account has its own internal names, and no listener serves both https and tls there.
    const scope = proto === 'tls' ? `${internalTo}:tls` : internalTo
    return { name: `internal:${scope}:${port}:${reverseLabels(address.host)}`, listener }
  }
  return proto === 'tcp'
    ? { name: `${TCP_CLAIM_PREFIX}${port}`, listener }
    : { name: reverseLabels(address.host), listener }
}

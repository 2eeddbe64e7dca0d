import type { Clock } from '../base/clock.ts'
import { reversed } from '../base/domain.ts'
import type { Logger } from '../base/log.ts'
import {
  type NameClaimOutcome,
  type NameClaimRequest,
  type NameClaimRows,
  type NameListener,
  type NameSpans,
  StoreUnavailable,
} from '../store/index.ts'
import { Releases } from './releases.ts'

/** How long the names of a lost session wait for its credential. */
export const GRACE_MS = 60_000

/** A claim that was not granted. */
export class ClaimRejected extends Error {
  override name = 'ClaimRefused'
  /** As in the store; `unavailable`: the database is away, and the name was not held before. */
  readonly because: 'held' | 'kept' | 'cooldown' | 'unavailable'
  /** The sessions that hold the name, when they are of the same account. */
  readonly holders: readonly { readonly session: string; readonly credential: string }[]

  constructor(because: ClaimRejected['because'], holders: ClaimRejected['holders'] = []) {
    super(`The name was not claimed: ${because}.`)
    this.because = because
    this.holders = holders
  }
}

export interface NameClaimsOptions {
  readonly rows: NameClaimRows
  /** Lasts over restarts of the node, so that a start takes back what a crash has left. */
  readonly nodeId: string
  /** New for every start. */
  readonly startId: string
  readonly spans: NameSpans
  readonly clock: Clock
  readonly log: Logger
  /** A claim that was made while the database was away, or anew, got its fence. */
  onConfirmed(request: NameClaimRequest, fence: number): void
  /** Another session has the name by now; the tunnel must go. */
  onLost(request: NameClaimRequest): void
  readonly limits?: Partial<NameClaimLimits>
}

export interface NameClaimLimits {
  /** How long claims count after the node last renewed its lease. */
  leaseMs: number
  renewMs: number
  /** How often an unreachable database is tried. */
  retryMs: number
  /** A pause of this process after which its claims are verified before they are served again; well below a lease. */
  stallMs: number
  sweepMs: number
  /** Names out of reach of others that each account may have. */
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
/** Attempts to verify claims after a pause before the database counts as away. */
const MAX_VERIFICATIONS = 4
/** A batch of the embedded database holds up the event loop for as long as it takes. */
const MAX_BATCH = 200
/** The fence of a name that was taken back while the database was away: lower than any that it gives out. */
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
 * The public names that this node holds. A name is claimed in the database before it is served; claims that arrive
 * together share one transaction, and one lease of the node keeps all of them. While the database is away only names that
 * were held before can be taken back, and such claims are confirmed once it is there again.
 */
export class NameClaims {
  readonly #options: NameClaimsOptions
  readonly #limits: NameClaimLimits
  readonly #node: { readonly id: string; readonly leaseMs: number }
  readonly #held = new Map<string, HeldClaim>()
  readonly #releases = new Releases()
  /** Those that were claimed again since `#reclaim` was set. */
  readonly #reclaimed = new Set<string>()
  #pending: PendingClaim[] = []
  #pendingReclaim: 'nothing' | 'provisional' | 'all' = 'nothing'
  #batchWork: Promise<void> | undefined
  #renewing: Promise<void> | undefined
  #joined = false
  #unavailable = false
  #verified = true
  /** Counts pauses, so that an answer from before one does not verify what is held after it. */
  #stalls = 0
  #failedVerifications = 0
  #tickedAt: number
  #renewedAt: number
  #timers: NodeJS.Timeout[] = []

  constructor(options: NameClaimsOptions) {
    this.#options = options
    this.#limits = { ...LIMITS, ...options.limits }
    this.#node = { id: `${options.nodeId}/${options.startId}`, leaseMs: this.#limits.leaseMs }
    this.#tickedAt = options.clock.monotonic()
    this.#renewedAt = this.#tickedAt
  }

  async start(): Promise<void> {
    await this.#renew()
    this.#timers = [
      setInterval(() => this.#tick(), TICK_INTERVAL_MS),
      setInterval(() => void this.#sweep(), this.#limits.sweepMs),
    ]
    for (const timer of this.#timers) timer.unref()
  }

  /** Lets go of everything that is still held. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#renewing
    await this.settled()
    await this.#options.rows
      .leave(this.#node)
      .catch((error) => this.#options.log.debug({ err: error }, 'name claims not released at stop'))
  }

  /**
   * False after this process was stopped for so long that its names may have gone to others, until the database has
   * said which are still its own. Asked for every connection.
   */
  get serving(): boolean {
    return this.#verified && this.#options.clock.monotonic() - this.#tickedAt < this.#limits.stallMs
  }

  /**
   * Claims a name and answers with its fence; throws `ClaimRefused`. `heldBefore`: the session has proved that it had the
   * name, which is enough while the database is away.
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

  /** The tunnel is gone, or never came online. */
  release(tunnel: string, kept: boolean): void {
    const claim = this.#held.get(tunnel)
    if (claim === undefined) return
    this.#held.delete(tunnel)
    this.#releases.add({ request: claim.request, kept, wasHeld: true })
    if (!this.#unavailable) this.#startBatches()
  }

  /** Whether pooling is allowed on a name has changed. */
  setPooled(tunnel: string, pooled: boolean): void {
    const claim = this.#held.get(tunnel)
    if (claim === undefined || claim.request.pooled === pooled) return
    this.#held.set(tunnel, { request: { ...claim.request, pooled }, fence: claim.fence })
    this.#options.rows
      .setPooled(tunnel, pooled)
      .catch((error) => this.#options.log.warn({ err: error, tunnel }, 'pooling of a name not stored'))
  }

  /** Names of a deleted credential wait for nobody. */
  forgetCredential(credential: string): void {
    this.#options.rows
      .forgetCredential(credential)
      .catch((error) =>
        this.#options.log.warn({ err: error, credential }, 'names of a deleted credential not freed'),
      )
  }

  /** Resolves once the database knows of all releases so far, or is away. */
  async settled(): Promise<void> {
    while (this.#batchWork !== undefined) await this.#batchWork
  }

  /** TCP ports that the account has used before and nobody holds, and those that it cannot have now. */
  async ports(account: string): Promise<{ own: readonly number[]; others: readonly number[] }> {
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
    if (!this.#verified || (due && (this.#unavailable || this.#held.size > 0))) void this.#renew()
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
      // The first contact takes back what a former process of this node has left behind.
      const { lost } = this.#joined
        ? await rows.renew(this.#node)
        : await rows.join(this.#node, `${nodeId}/`).then(() => ({ lost: false }))
      this.#joined = true
      if (this.#unavailable) log.info({ names: this.#held.size }, 'database is back, confirming name claims')
      this.#unavailable = false
      if (lost) this.#reclaimAll()
      else if (this.#pendingReclaim === 'nothing') this.#pendingReclaim = 'provisional'
      this.#startBatches()
      await this.settled()
      if (stalls === this.#stalls) this.#verified = true
    } catch (error) {
      this.#onFailure(error)
      // The connections of a process that was stopped are broken, which says nothing about the database yet.
      if (++this.#failedVerifications >= MAX_VERIFICATIONS) this.#verified = true
    }
    this.#renewedAt = clock.monotonic()
  }

  #onFailure(error: unknown): void {
    const { log } = this.#options
    if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'name claims failed')
    else if (!this.#unavailable)
      log.warn({ err: error }, 'database is away, only names held before can be bound')
    this.#unavailable = true
    if (this.#pending.length > 0) this.#startBatches()
  }

  async #sweep(): Promise<void> {
    const { rows, spans, log } = this.#options
    try {
      // Also a node without names lets those of dead nodes go.
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
    // What arrives in the same turn of the event loop shares a transaction.
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
            releases: releases.map(([tunnel, { kept }]) => ({ tunnel, kept })),
          },
          this.#options.spans,
        )
        for (const [tunnel, release] of releases) this.#releases.delete(tunnel, release)
        for (const [index, claim] of reclaims.entries()) this.#settleReclaim(claim, outcomes[index]!)
        for (const [index, claim] of pending.entries())
          this.#settle(claim, outcomes[reclaims.length + index]!)
        if (lost && this.#held.size > 0) this.#reclaimAll()
      } catch (error) {
        this.#onFailure(error)
        const rejected = pending.filter((claim) => !this.#settleWithoutDatabase(claim))
        // Whether a claim took hold may be unknown, so that it is given back as soon as the database can be told.
        for (const { request } of rejected) this.#releases.add({ request, kept: false, wasHeld: false })
        if (reclaims.length > 0) this.#reclaimAll()
      }
    }
    for (const claim of this.#pending.splice(0)) this.#settleWithoutDatabase(claim)
    // In the same turn as the last look for work, so that nothing can arrive in between.
    this.#batchWork = undefined
  }

  #hasWork(): boolean {
    return this.#pending.length > 0 || this.#releases.size > 0 || this.#pendingReclaim !== 'nothing'
  }

  #reclaimAll(): void {
    this.#pendingReclaim = 'all'
    this.#reclaimed.clear()
  }

  /** The next names to claim again, each once. */
  #takeReclaims(limit: number): HeldClaim[] {
    if (this.#pendingReclaim === 'nothing') return []
    const reclaims: HeldClaim[] = []
    for (const claim of this.#held.values()) {
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
      reject(new ClaimRejected(outcome.because, outcome.holders))
      return
    }
    this.#held.set(request.tunnel, { request, fence: outcome.fence })
    resolve(outcome.fence)
  }

  #settleReclaim(claim: HeldClaim, outcome: NameClaimOutcome): void {
    const { request } = claim
    const { log, onConfirmed, onLost } = this.#options
    if (this.#held.get(request.tunnel) !== claim) {
      // Released meanwhile, and with that perhaps claimed again.
      if (outcome.granted && !this.#held.has(request.tunnel))
        this.#releases.add({ request, kept: false, wasHeld: true })
    } else if (outcome.granted) {
      claim.fence = outcome.fence
      onConfirmed(request, outcome.fence)
    } else {
      const { name, tunnel, account, session } = request
      log.warn({ name, tunnel, account, session, because: outcome.because }, 'name claim lost')
      this.#held.delete(tunnel)
      onLost(request)
    }
  }

  /** False when the claim is refused. */
  #settleWithoutDatabase({ request, heldBefore, resolve, reject }: PendingClaim): boolean {
    if (!heldBefore && !this.#releases.hasHolder(request)) {
      reject(new ClaimRejected('unavailable'))
      return false
    }
    this.#releases.delete(request.tunnel)
    this.#held.set(request.tunnel, { request, fence: PROVISIONAL_FENCE })
    resolve(PROVISIONAL_FENCE)
    return true
  }
}

/** How the names of claims on TCP ports begin. */
export const TCP_CLAIMS = 'tcp:'

/** How the claim on an address is named. */
export function claimedName(address: {
  readonly proto: 'http' | 'https' | 'tls' | 'tcp'
  readonly host?: string | undefined
  readonly port?: number | undefined
}): { name: string; listener: NameListener } {
  const { proto, host, port } = address
  if (proto === 'tcp') return { name: `${TCP_CLAIMS}${port}`, listener: 'tcp' }
  return { name: reversed(host!), listener: proto === 'http' ? 'http' : 'https' }
}

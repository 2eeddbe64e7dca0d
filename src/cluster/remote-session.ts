import { compileAcl } from '../auth/index.ts'
import type { ByteStream } from '../base/io/streams/stream.ts'
import { errorMessage } from '../base/text/error-message.ts'
import type { Clock } from '../base/values/clock.ts'
import { ErrorCode } from '../protocol/index.ts'
import {
  type ClientInfo,
  type Command,
  type CommandOutcome,
  Legs,
  type LiveSession,
  type LiveTunnel,
  type ProbeOutcome,
  type Registry,
  type SessionState,
} from '../sessions/index.ts'
import { PeerStream, type SessionSnapshot } from './wire.ts'

/** Slightly longer than `PROBE_TIMEOUT_MS`. */
const PROBE_CALL_TIMEOUT_MS = 2500

/**
 * How long legs to this node serve a session whose home is lost, while its agent moves its home. Shorter than the grace
 * period, so that no other credential can have claimed its names meanwhile.
 */
const MAX_ORPHANED_MS = 45_000

/** The home enforces the rules of the credential. */
const UNRESTRICTED = compileAcl(['*'])

/** What the session of a peer needs from the link to it. */
export interface PeerLink {
  readonly call: PeerCall
  open(tunnelId: string, client: ClientInfo): ByteStream
}

/** Calls the peer. */
type PeerCall = (type: number, message: object, timeoutMs?: number) => Promise<Record<string, unknown>>

/**
 * A session whose home is a peer, which enforces its rules and sends its commands. This copy owns the tunnels here, and
 * the legs that its agent has to this node: a stream is opened on one of them, or through the link. It is orphaned for
 * `MAX_ORPHANED_MS` at most.
 */
export class RemoteSession implements LiveSession {
  readonly remote = true
  readonly id: string
  readonly accountId: string
  readonly credentialId: string
  readonly ownerId: string
  readonly clientId: string
  readonly transport: LiveSession['transport']
  readonly agentVersion: string
  readonly os: string
  readonly hostname: string
  readonly ip: string
  readonly region: string
  metadata: string
  readonly startedAt: number
  readonly fence: number
  acl = UNRESTRICTED
  state: SessionState = 'connecting'
  readonly #registry: Registry
  readonly #clock: Clock
  #legs: Legs | undefined
  #link: PeerLink | undefined
  #orphanTimer: NodeJS.Timeout | undefined

  constructor(snapshot: SessionSnapshot, link: PeerLink, registry: Registry, clock: Clock) {
    this.id = snapshot.id
    this.accountId = snapshot.accountId
    this.credentialId = snapshot.credentialId
    this.ownerId = snapshot.ownerId
    this.clientId = snapshot.clientId
    this.transport = snapshot.transport
    this.agentVersion = snapshot.agentVersion
    this.os = snapshot.os
    // A peer of an earlier release does not send it.
    this.hostname = snapshot.hostname ?? ''
    this.ip = snapshot.ip
    this.region = snapshot.region
    this.metadata = snapshot.metadata
    this.startedAt = snapshot.startedAt
    this.fence = snapshot.fence ?? 0
    this.#link = link
    this.#registry = registry
    this.#clock = clock
  }

  /** Created when first needed: most sessions of peers have none here, and there are many of them. */
  get legs(): Legs {
    this.#legs ??= new Legs({
      clock: this.#clock,
      minLegs: 0,
      onChange: () => this.#registry.legsChanged(this),
      onLastClosed: () => this.#onLegsGone(),
    })
    return this.#legs
  }

  /** Whether the agent has legs to this node, or to others but the home. */
  get hasLegs(): boolean {
    return (this.#legs?.all.length ?? 0) > 0 || this.#registry.hasRemoteLegs(this)
  }

  /** Opens a stream on a leg to this node; through the home when none answers, or on a remote leg when that is lost. */
  open(tunnel: LiveTunnel, client: ClientInfo): ByteStream {
    const link = this.#link
    if (link === undefined) return this.#registry.openOnLeg(this.legs, tunnel, client)
    const relay = () => link.open(tunnel.id, client)
    return this.#legs?.openOrRelay(tunnel, client, relay) ?? relay()
  }

  onRemoteLegs(): void {
    this.#onLegsGone()
  }

  /** Takes over what has changed at the home since the session began. */
  change({ metadata }: SessionSnapshot): void {
    this.metadata = metadata
    this.#registry.sessionChanged(this)
  }

  /** The home is lost: legs to other nodes go on serving until the agent has moved its home. */
  orphan(): void {
    this.state = 'orphaned'
    this.#link = undefined
    if (this.#isUsed) this.#orphanTimer = setTimeout(() => this.#expire(), MAX_ORPHANED_MS).unref()
    else this.#remove()
  }

  /** The home of an orphaned session is linked again. False for any other session. */
  relink(link: PeerLink): boolean {
    if (this.state !== 'orphaned') return false
    clearTimeout(this.#orphanTimer)
    this.state = 'online'
    this.#link = link
    return true
  }

  end(reason: string): void {
    this.#legs?.close(ErrorCode.NoError, reason)
    // If the link is down, the session is gone as well.
    this.#call(PeerStream.End, { session: this.id, reason }).catch(() => {})
  }

  /** The owning node sees the same change and notifies its agent. */
  tunnelEnded(): void {}

  async probe(): Promise<ProbeOutcome> {
    try {
      const { outcome } = await this.#call(PeerStream.Probe, { session: this.id }, PROBE_CALL_TIMEOUT_MS)
      return outcome === 'alive' || outcome === 'gone' ? outcome : 'unknown'
    } catch {
      return 'unknown'
    }
  }

  async command(command: Command): Promise<CommandOutcome> {
    try {
      const { outcome } = await this.#call(PeerStream.Command, { session: this.id, command })
      if (outcome !== null && outcome !== undefined) return outcome as CommandOutcome
      return { done: false, because: 'lost', reason: 'The session has ended.' }
    } catch (error) {
      return { done: false, because: 'lost', reason: errorMessage(error) }
    }
  }

  #call: PeerCall = (...args) =>
    this.#link?.call(...args) ?? Promise.reject(new Error('The node of the session is not linked.'))

  #onLegsGone(): void {
    if (this.state === 'orphaned' && !this.hasLegs) this.#remove()
  }

  /** Whether legs serve tunnels, or did and have streams left. */
  get #isUsed(): boolean {
    return this.#isBusy || (this.hasLegs && this.#registry.tunnelsIn(this).length > 0)
  }

  get #isBusy(): boolean {
    return this.#legs?.isBusy === true
  }

  #expire(): void {
    // Streams that are open go on once the tunnels are taken over.
    for (const { bindId } of this.#registry.tunnelsIn(this)) this.#registry.unbind(this, bindId, 'lost')
    if (this.#isBusy) this.#orphanTimer = setTimeout(() => this.#expire(), MAX_ORPHANED_MS).unref()
    else this.#remove()
  }

  #remove(): void {
    clearTimeout(this.#orphanTimer)
    this.#registry.removeSession(this, 'lost')
  }
}

import { compileAcl } from '../../auth/index.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import { fanOut, rethrowAsync } from '../../base/limits/fan-out.ts'
import { type Clock, systemClock } from '../../base/values/clock.ts'
import { newId } from '../../base/values/id.ts'
import { type EndpointAddress, GRACE_MS, isPublicPort } from '../../naming/index.ts'
import { ErrorCode, protocolError } from '../../protocol/index.ts'
import type { Legs, LegView } from '../session/legs.ts'
import type { LiveEvent } from '../session/live-event.ts'
import type { LiveSession } from '../session/live-session.ts'
import { LiveTunnel, type TunnelPatch, type TunnelSpec } from '../session/live-tunnel.ts'
import { RemoteLegs } from '../session/remote-legs.ts'
import { type EndCause, keepsNames, type TunnelEndCause } from '../session/states.ts'
import { canPool, isStale, isSuccessor, outranks } from '../session/succession.ts'
import type { ClientInfo, LabelAddress, PublicPorts, Tunnel, TunnelAddress } from '../tunnel.ts'
import { type BindingKey, bindingKey } from './binding-table.ts'
import { CredentialChanges } from './credential-changes.ts'
import { SessionDirectory } from './session-directory.ts'
import { TunnelDirectory } from './tunnel-directory.ts'

export interface RegistryOptions {
  ports: PublicPorts
  /** What the registry writes and others read; a new one when absent. */
  directory?: TunnelDirectory
  clock?: Clock
  /** A tunnel of this node was evicted by a newer claim on its name. */
  onOutranked?(tunnel: LiveTunnel, successor: { readonly id: string; readonly fence: number }): void
  /** A subscriber threw; the others are still called. */
  onSubscriberError?(error: unknown): void
  /** Grace period: how long the names of a lost session stay reserved for its credential. */
  graceMs?: number
  /** How long a superseded connection of a reconnected agent may stay open. */
  supersededMs?: number
}

const SUPERSEDED_TIMEOUT_MS = 10_000

const SUPERSEDED_REASON = 'The agent has connected again.'

/** The other processes of the platform, which register what happens here. */
interface RegistryPeers {
  onLive(event: LiveEvent): void
  /** Resolves once they have registered what they were told so far. */
  published(): Promise<void>
  /** Opens a stream on a leg that the session of the tunnel has at the node; undefined while there is no link to it. */
  openOnLeg(node: string, tunnel: LiveTunnel, client: ClientInfo): ByteStream | undefined
}

/** The reservation of a name for a credential whose session was lost. */
interface GracePeriod {
  credentialId: string
  timer: NodeJS.Timeout
}

/**
 * All online sessions and tunnels, of every transport and of peer nodes. Owns the bindings: which tunnels serve which
 * public address. The life of a binding:
 *
 *                         a newer session of the agent registers
 *              +-------+            (addSession)             +------------+
 *   bind() --> | BOUND | ----------------------------------> | SUPERSEDED |  still serves
 *              +-------+                                     +------------+
 *               ^    |                                         |        |
 *               |    +---------------+-------------------------+        |  the successor binds the address: its binding
 *               |                    |                                  |  is published, then this one is removed
 *               |         +----------+------------+                     v
 *               |    lost |  outranked |  removed |                +---------+
 *               |         v            v          v                | RESUMED |  BOUND in the successor's session
 *               |   +----------+  +---------+  +------+            +---------+
 *               |   | IN GRACE |  | EVICTED |  | FREE |
 *               |   +----------+  +---------+  +------+
 *               |     |      |                    ^
 *               |     |      +--------------------+  graceMs passes, or revokeCredential()
 *               +-----+  bind() by the same credential: RESUMED
 *
 *   lost       removeSession() with an end that keeps its names (`session/states.ts`). Starts a grace period only when no
 *              pooled tunnel remains at the address.
 *   outranked  bind() with a newer claim that cannot pool (`outranks`); the agent is notified by `tunnelEnded`
 *   removed    unbind(), revoke(), updateAcl(), and removeSession() with any other end
 *
 * bind() throws `name_taken` while others hold the address and cannot pool, or while it is in another credential's grace
 * period, unless the database granted the claim (fence > 0). SUPERSEDED is a state of the session (`session/states.ts`) and
 * not stored in the binding: `isSuccessor` decides, and a timer closes the old session, or the resumption of its last tunnel does.
 * A TCP port stays open while its address is bound or in grace. Labelled tunnels have no address and no grace period.
 */
export class Registry {
  readonly #options: RegistryOptions
  readonly #clock: Clock
  readonly #sessions = new SessionDirectory()
  readonly #revisions = new Map<string, number>()
  readonly #tunnels = new Map<LiveSession, Map<string, LiveTunnel>>()
  readonly directory: TunnelDirectory
  readonly #remoteLegs = new RemoteLegs()
  readonly #subscribers: ((event: LiveEvent) => void)[] = []
  #peers: RegistryPeers | undefined
  readonly #gracePeriods = new Map<BindingKey, GracePeriod>()
  readonly #ports = new Set<number>()
  readonly #credentialChanges = new CredentialChanges()
  readonly #supersedeTimers = new Set<NodeJS.Timeout>()
  /** Sessions of this node whose agents have moved, while streams are open on their legs. */
  readonly #moved = new Set<LiveSession>()

  constructor(options: RegistryOptions) {
    this.#options = options
    this.directory = options.directory ?? new TunnelDirectory()
    this.#clock = options.clock ?? systemClock
  }

  /** Tunnels whose agents are connected to this process. */
  get ownTunnels(): number {
    let count = 0
    for (const [{ remote }, tunnels] of this.#tunnels) if (remote !== true) count += tunnels.size
    return count
  }

  /** Calls `subscriber` with every event of this node from now on; subscribers are called in the order they subscribed. */
  subscribe(subscriber: (event: LiveEvent) => void): void {
    this.#subscribers.push(subscriber)
  }

  /** Tells the peers every event of this node from now on. */
  publishTo(peers: RegistryPeers): void {
    this.#peers = peers
    this.subscribe((event) => peers.onLive(event))
  }

  /**
   * Resolves once the peers have registered what happened here so far: what is confirmed to a client must be true at every
   * process that its next connection may reach. Peers that are slow are not waited for.
   */
  async published(): Promise<void> {
    await this.#peers?.published()
  }

  findLabelled(accountId: string, selector: Readonly<Record<string, string>>): readonly LiveTunnel[] {
    return this.directory.findLabelled(accountId, selector)
  }

  /** Whether the session's agent holds this address now, or its grace period is for the session's credential. */
  wasHeldBy(session: LiveSession, spec: TunnelSpec<EndpointAddress>): boolean {
    const key = bindingKey(spec.address)
    if (this.#gracePeriods.get(key)?.credentialId === session.credentialId) return true
    return this.directory.bindings.get(key).some((tunnel) => isStale(tunnel, session, spec.bindId))
  }

  /** The tunnels bound at the address. */
  holdersOf(address: EndpointAddress): readonly LiveTunnel[] {
    return this.directory.bindings.get(bindingKey(address))
  }

  /** The sessions of an account. */
  sessionsOf(accountId: string): LiveSession[] {
    return this.#sessions.ofAccount(accountId)
  }

  /** The tunnels of an account. */
  tunnelsOf(accountId: string): LiveTunnel[] {
    return this.sessionsOf(accountId).flatMap((session) => [...this.#tunnels.get(session)!.values()])
  }

  /** Grows whenever a session or tunnel of the account starts, changes or ends, on any node. */
  revisionOf(accountId: string): number {
    return this.#revisions.get(accountId) ?? 0
  }

  /** The account's session with this id. */
  session(accountId: string, id: string): LiveSession | undefined {
    const session = this.#sessions.get(id)
    return session?.accountId === accountId ? session : undefined
  }

  /** The tunnels of one session. */
  tunnelsIn(session: LiveSession): LiveTunnel[] {
    return [...(this.#tunnels.get(session)?.values() ?? [])]
  }

  /** The connections of the session to all nodes, oldest first; none for SSH clients. */
  legsOf(session: LiveSession): readonly LegView[] {
    const legs = [...(session.legs?.all ?? []), ...this.#remoteLegs.legsOf(session.id)]
    return legs.sort((a, b) => a.startedAt - b.startedAt)
  }

  /** A node reports the legs that a session has there. */
  reportLegs(node: string, sessionId: string, legs: readonly LegView[]): void {
    this.#remoteLegs.report(node, sessionId, legs)
    this.#onRemoteLegs(sessionId)
  }

  /** The link to the node is down. */
  forgetLegs(node: string): void {
    for (const sessionId of this.#remoteLegs.forget(node)) this.#onRemoteLegs(sessionId)
  }

  /** Whether the session has legs at other nodes. */
  hasRemoteLegs({ id }: LiveSession): boolean {
    return this.#remoteLegs.nodesOf(id).length > 0
  }

  /** Opens a stream on one of the legs that the session of the tunnel has here; on a remote one when there are none. */
  openOnLeg(legs: Legs, tunnel: LiveTunnel, client: ClientInfo): ByteStream {
    const stream = legs.all.length === 0 ? this.#openOnRemoteLeg(tunnel, client) : undefined
    return stream ?? legs.open(tunnel, client)
  }

  /** A leg of the session at this node opened or closed. */
  legsChanged(session: LiveSession): void {
    this.#countChange(session.accountId)
    this.#notify({ type: 'legs_changed', session })
  }

  /** The metadata of the session changed. */
  sessionChanged(session: LiveSession): void {
    if (this.has(session)) this.#emit({ type: 'session_changed', session })
  }

  /** True while the session is registered. */
  has(session: LiveSession): boolean {
    return this.#tunnels.has(session)
  }

  /** Number of credential changes so far. Read it before checking a credential, pass it to `addSession`. */
  get credentialChangeCount(): number {
    return this.#credentialChanges.count
  }

  /** A fence above those of all sessions of this agent registered here. */
  nextFence(credentialId: string, clientId: string, provenFence: number): number {
    const sessions = this.#sessions.ofAgent({ credentialId, clientId })
    return Math.max(provenFence, ...sessions.map(({ fence = 0 }) => fence)) + 1
  }

  /**
   * Registers a session. Older sessions of the same agent stay until it has rebound their tunnels. Applies credential
   * changes made after the first `changeCount`, while the credential was being checked; throws when it was deleted.
   */
  addSession(session: LiveSession, changeCount = 0): void {
    if (session.remote && !this.#admitsRemote(session)) return
    const change = this.#credentialChanges.changeSince(session.credentialId, changeCount)
    if (change !== undefined) {
      if (change.rules === undefined) throw protocolError('credential_revoked')
      session.acl = compileAcl(change.rules)
    }
    for (const old of this.#sessions.ofAgent(session)) {
      if (!isSuccessor(session, old)) continue
      if (old.state === 'moving' && this.tunnelsIn(old).length === 0) this.#closeSuperseded(old, session)
      else this.#supersede(old, session)
    }
    session.state = 'online'
    this.#sessions.add(session)
    this.#tunnels.set(session, new Map())
    this.#emit({ type: 'session_started', session })
  }

  /**
   * Removes a session and its tunnels. Bindings that a newer session of the agent took over stay. `error` says in words what
   * ended the session, if anything.
   */
  removeSession(session: LiveSession, end: EndCause, error?: string): void {
    session.state = end === 'moved' ? 'moved' : 'ended'
    this.#moved.delete(session)
    const tunnels = this.#tunnels.get(session)
    if (tunnels === undefined) return
    for (const tunnel of [...tunnels.values()]) this.#stop(tunnel, keepsNames(end) ? 'lost' : end)
    this.#tunnels.delete(session)
    this.#sessions.remove(session)
    this.#emit({ type: 'session_stopped', session, end, error })
    // The legs of a session of this node end it; those of a peer's session end with it.
    if (session.remote) session.legs?.close(ErrorCode.NoError, error ?? 'The session has ended.')
  }

  /** Publishes a tunnel; throws `name_taken` when others hold its address. */
  bind<A extends TunnelAddress>(session: LiveSession, spec: TunnelSpec<A>): LiveTunnel<A> {
    const tunnels = this.#tunnels.get(session)
    if (tunnels === undefined) throw protocolError('not_authenticated')
    const address: TunnelAddress = spec.address
    const now = this.#clock.now()
    const { id, startedAt } = spec.identity ?? { id: newId('tn', now), startedAt: now }
    const claim = { id, fence: spec.fence ?? 0 }
    const { superseded, outranked } =
      address.proto === undefined
        ? { superseded: this.#staleLabelled(session, address), outranked: [] }
        : this.#selectEvictions(session, spec, address, claim)
    const previous = tunnels.get(spec.bindId)
    if (previous !== undefined && !superseded.includes(previous)) superseded.push(previous)

    const tunnel = new LiveTunnel(id, session, spec, startedAt)
    // The new binding is published before the old ones are removed, so the address never goes unserved.
    this.directory.add(tunnel)
    for (const old of superseded) this.#stop(old, old.session.state === 'moving' ? 'moved' : 'superseded')
    for (const old of outranked) this.#stop(old, 'evicted')
    tunnels.set(spec.bindId, tunnel)
    this.#emit({ type: 'tunnel_started', tunnel })
    for (const old of outranked) {
      if (old.session.remote) continue
      this.#options.onOutranked?.(old, claim)
      old.session.tunnelEnded(old, claimedReason(old))
    }
    for (const old of new Set(superseded.map((tunnel) => tunnel.session))) {
      // Every tunnel of the old session was rebound, so nothing is served through it any more.
      if (old !== session && this.tunnelsIn(old).length === 0) this.#closeSuperseded(old, session)
    }
    return tunnel
  }

  /** Removes a tunnel whose name another session claimed. */
  revoke(accountId: string, sessionId: string, tunnelId: string): void {
    const tunnel = this.#findTunnel(accountId, sessionId, tunnelId)
    if (tunnel !== undefined) this.evict(tunnel, claimedReason(tunnel))
  }

  /** Removes a tunnel, unless it has ended already, and notifies its agent. */
  evict(tunnel: LiveTunnel, reason: string): void {
    if (this.#tunnels.get(tunnel.session)?.get(tunnel.bindId) !== tunnel) return
    this.#stop(tunnel, 'evicted')
    tunnel.session.tunnelEnded(tunnel, reason)
  }

  /** Replaces what the agent of a tunnel may change while it is online; ignores a tunnel that has ended. */
  patch(session: LiveSession, bindId: string, patch: TunnelPatch): void {
    const tunnel = this.#tunnels.get(session)?.get(bindId)
    if (tunnel === undefined) return
    const { poolingWeight } = tunnel
    Object.assign(tunnel, patch)
    if (tunnel.poolingWeight !== poolingWeight) this.directory.reweigh(tunnel)
    this.#emit({ type: 'tunnel_changed', tunnel })
  }

  /** Records the fence of a stored, or re-stored, claim on the tunnel's name. */
  confirm(accountId: string, sessionId: string, tunnelId: string, fence: number): void {
    const tunnel = this.#findTunnel(accountId, sessionId, tunnelId)
    if (tunnel !== undefined) tunnel.fence = fence
  }

  /** Removes a tunnel of the session; ignores unknown ids. */
  unbind(session: LiveSession, bindId: string, end: 'closed' | 'lost' = 'closed'): void {
    const tunnel = this.#tunnels.get(session)?.get(bindId)
    if (tunnel !== undefined) this.#stop(tunnel, end)
  }

  /**
   * Opens a public port: the given one, or any free one that is not `excluded`. Returns a port that is already open, in
   * use or in grace, at once: `bind` decides who gets it.
   */
  async acquirePort(port?: number, excluded?: ReadonlySet<number>): Promise<number> {
    if (port !== undefined && this.#ports.has(port)) return port
    const acquired = await this.#options.ports.acquire(port, excluded)
    this.#ports.add(acquired)
    return acquired
  }

  /** Whether the port is open here: in use or in a grace period. */
  hasPort(port: number): boolean {
    return this.#ports.has(port)
  }

  /** Closes a port that has no tunnel and no grace period. */
  releasePort(port: number): void {
    const key = `tcp/${port}`
    const isServed = this.directory.bindings.tunnelsAt(key).length > 0
    if (!this.#ports.has(port) || isServed || this.#gracePeriods.has(key)) return
    this.#ports.delete(port)
    this.#options.ports.release(port)
  }

  /** Ends every session of a deleted credential at once, without a grace period. */
  revokeCredential(credentialId: string, reason: string): void {
    this.#credentialChanges.record(credentialId, undefined)
    for (const session of this.#sessions.ofCredential(credentialId)) {
      this.removeSession(session, 'revoked', reason)
      session.end(reason)
    }
    for (const session of this.#moved) {
      if (session.credentialId !== credentialId) continue
      session.state = 'ended'
      session.end(reason)
    }
    for (const [key, gracePeriod] of this.#gracePeriods)
      if (gracePeriod.credentialId === credentialId) this.#endGracePeriod(key)
  }

  /** Applies a credential's new rules and removes the tunnels they no longer allow. */
  updateAcl(credentialId: string, rules: readonly string[]): void {
    this.#credentialChanges.record(credentialId, rules)
    const acl = compileAcl(rules)
    for (const session of this.#sessions.ofCredential(credentialId)) {
      session.acl = acl
      for (const tunnel of this.tunnelsIn(session)) {
        if (!isStillAllowed(tunnel)) this.evict(tunnel, "The credential's ACL no longer allows this tunnel.")
      }
    }
  }

  /** Clears all timers. The gateways end their own sessions. */
  close(): void {
    for (const key of [...this.#gracePeriods.keys()]) this.#endGracePeriod(key)
    this.#credentialChanges.close()
    for (const timer of this.#supersedeTimers) clearTimeout(timer)
  }

  /**
   * Whether to register a session of a peer node. Each session is registered once: a remote copy never replaces the local
   * original, and a second remote copy replaces the first. A session whose agent has reconnected is not registered; the
   * node of its successor ends it.
   */
  #admitsRemote(remote: LiveSession): boolean {
    const existing = this.#sessions.get(remote.id)
    if (existing !== undefined && !existing.remote) return false
    if (existing !== undefined) this.removeSession(existing, 'lost')
    const sessions = this.#sessions.ofAgent(remote)
    const successor = sessions.find((session) => isSuccessor(session, remote))
    if (successor !== undefined && !successor.remote) remote.end(SUPERSEDED_REASON)
    return successor === undefined
  }

  /**
   * Selects the tunnels that the new binding evicts: the agent's own earlier ones (`superseded`), and those with an older
   * claim (`outranked`), which the database has already given away. Throws when others hold the address and cannot pool.
   */
  #selectEvictions(
    session: LiveSession,
    spec: TunnelSpec,
    address: EndpointAddress,
    claim: { id: string; fence: number },
  ) {
    const key = bindingKey(address)
    const current = this.directory.bindings.get(key)
    const superseded = current.filter((tunnel) => isStale(tunnel, session, spec.bindId))
    const outranked = current.filter(
      (tunnel) =>
        !superseded.includes(tunnel) && !canPool(tunnel, session, spec) && outranks(claim, tunnel, session),
    )
    const others: Tunnel[] = current.filter(
      (tunnel) => !superseded.includes(tunnel) && !outranked.includes(tunnel),
    )
    others.push(...this.directory.bindings.cloudEndpoints(key))
    if (!others.every((tunnel) => canPool(tunnel, session, spec)))
      throw protocolError('name_taken', address.url)
    const gracePeriod = this.#gracePeriods.get(key)
    if (gracePeriod !== undefined) {
      // A claim granted by the database overrides this node's grace period.
      if (gracePeriod.credentialId !== session.credentialId && claim.fence === 0)
        throw protocolError('name_taken', address.url)
      clearTimeout(gracePeriod.timer)
      this.#gracePeriods.delete(key)
    }
    return { superseded, outranked }
  }

  #findTunnel(accountId: string, sessionId: string, tunnelId: string): LiveTunnel | undefined {
    const session = this.session(accountId, sessionId)
    return session && this.tunnelsIn(session).find(({ id }) => id === tunnelId)
  }

  /** Tunnels with the same labels in older sessions of the agent: they would keep receiving a share of the traffic. */
  #staleLabelled(session: LiveSession, { labels }: LabelAddress): LiveTunnel[] {
    const requested = Object.keys(labels)
    return this.directory.labels
      .find(session.accountId, labels)
      .filter(
        (tunnel) =>
          isSuccessor(session, tunnel.session) &&
          tunnel.address.proto === undefined &&
          Object.keys(tunnel.address.labels).length === requested.length,
      )
  }

  #stop(tunnel: LiveTunnel, end: TunnelEndCause): void {
    const tunnels = this.#tunnels.get(tunnel.session)
    if (tunnels?.get(tunnel.bindId) !== tunnel) return
    tunnels.delete(tunnel.bindId)
    this.directory.remove(tunnel)
    const { address } = tunnel
    if (address.proto !== undefined) this.#freeAddress(address, tunnel.credentialId, end === 'lost')
    this.#emit({ type: 'tunnel_stopped', tunnel, end })
  }

  /** Starts the grace period of an address that no tunnel serves any more, or closes its port. */
  #freeAddress(address: EndpointAddress, credentialId: string, startGrace: boolean): void {
    const key = bindingKey(address)
    if (this.directory.bindings.tunnelsAt(key).length > 0) return
    if (startGrace) {
      const timer = setTimeout(() => this.#endGracePeriod(key), this.#options.graceMs ?? GRACE_MS)
      timer.unref()
      this.#gracePeriods.set(key, { credentialId, timer })
    } else if (isPublicPort(address)) this.releasePort(address.port)
  }

  /** Frees the name. */
  #endGracePeriod(key: BindingKey): void {
    clearTimeout(this.#gracePeriods.get(key)?.timer)
    this.#gracePeriods.delete(key)
    if (key.startsWith('tcp/')) this.releasePort(Number(key.slice(4)))
  }

  #supersede(old: LiveSession, successor: LiveSession): void {
    if (old.state === 'online') old.state = 'superseded'
    const timer = setTimeout(() => {
      this.#supersedeTimers.delete(timer)
      this.#closeSuperseded(old, successor)
    }, this.#options.supersededMs ?? SUPERSEDED_TIMEOUT_MS)
    timer.unref()
    this.#supersedeTimers.add(timer)
  }

  #closeSuperseded(old: LiveSession, successor: LiveSession): void {
    if (!this.has(old)) return
    if (old.remote && old.legs?.isBusy) {
      // Its home is lost, but clients of this node are still served over these legs.
      this.#supersede(old, successor)
      return
    }
    const end = old.state === 'moving' ? 'moved' : 'superseded'
    this.removeSession(old, end, SUPERSEDED_REASON)
    if (end === 'moved') this.#moved.add(old)
    // When both sessions are remote, their own nodes end the older one.
    if (!(old.remote && successor.remote)) old.end(SUPERSEDED_REASON)
  }

  /** Counts every event, and emits the local ones only: each node emits its own. */
  #emit(event: LiveEvent): void {
    const { accountId, remote = false } = 'session' in event ? event.session : event.tunnel.session
    this.#countChange(accountId)
    if (!remote) this.#notify(event)
  }

  #openOnRemoteLeg(tunnel: LiveTunnel, client: ClientInfo): ByteStream | undefined {
    for (const node of this.#remoteLegs.nodesOf(tunnel.sessionId)) {
      const stream = this.#peers?.openOnLeg(node, tunnel, client)
      if (stream !== undefined) return stream
    }
    return undefined
  }

  #onRemoteLegs(sessionId: string): void {
    const session = this.#sessions.get(sessionId)
    if (session === undefined) return
    this.#countChange(session.accountId)
    session.onRemoteLegs?.()
  }

  #countChange(accountId: string): void {
    this.#revisions.set(accountId, this.revisionOf(accountId) + 1)
  }

  #notify(event: LiveEvent): void {
    fanOut(
      this.#subscribers,
      (subscriber) => subscriber(event),
      this.#options.onSubscriberError ?? rethrowAsync,
    )
  }
}

function isStillAllowed({ session: { acl }, address }: LiveTunnel): boolean {
  if (address.proto === undefined)
    return Object.entries(address.labels).every(([key, value]) => acl.allowsLabel(key, value))
  if (!isPublicPort(address)) return acl.allowsName(address.host)
  return acl.allowsAnyAddress() || acl.allowsAddress(address.host, address.port)
}

function claimedReason({ address }: LiveTunnel): string {
  return `${address.proto === undefined ? 'The tunnel' : address.url} was claimed by another session.`
}

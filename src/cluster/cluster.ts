import type { SecureContext } from 'node:tls'
import { WindowBudget } from '../base/io/memory/window-budget.ts'
import type { ByteStream } from '../base/io/streams/stream.ts'
import type { Logger } from '../base/process/log.ts'
import type { Clock } from '../base/values/clock.ts'
import { parseHostPort } from '../base/values/hostport.ts'
import type { Secret } from '../base/values/secret.ts'
import type { ClientInfo, LiveEvent, LiveTunnel, Registry } from '../sessions/index.ts'
import { FlapGuard } from './flap-guard.ts'
import { HistoryComparison } from './history-comparison.ts'
import { Link, type Peer } from './link.ts'
import { PeerListener } from './peer-listener.ts'
import { RegistryPublisher } from './registry-publisher.ts'
import type { DialApi, PeerTopic, ReceivePublished } from './wire.ts'

/** A node of the membership list. */
export interface ListedNode extends Peer {
  /** `host:port` for agents; undefined when the node accepts none. */
  readonly agentAddress: string | undefined
}

export interface ClusterOptions {
  /** The membership list in the database. */
  readonly nodes: {
    /** Renews this node's row and returns the peers. `expire`: expired rows are removed; otherwise they still count. */
    heartbeat(
      self: { id: string; address: string | undefined; agentAddress: string | undefined },
      times: { ttlMs: number; expire: boolean },
    ): Promise<readonly ListedNode[]>
    /** The last list read, for when the database is unavailable. */
    list(): Promise<readonly ListedNode[]>
    leave(id: string): Promise<void>
  }
  /** New for every start: identifies the incarnation. */
  readonly id: string
  readonly registry: Registry
  readonly secret: Secret<Buffer>
  /** The certificate for `NODE_NAME`, and the authority of all node certificates. */
  readonly secureContext: () => SecureContext
  readonly authorityPem: string
  /** Undefined when this node publishes no tunnels. */
  readonly listen: { readonly host: string; readonly port: number } | undefined
  /** The address for peers, when it differs from the bound one. */
  readonly advertise?: string | undefined
  /** The address for agents, once known. */
  readonly agentAddress?: () => string | undefined
  /** Shared by the stream windows of the process. */
  readonly windows?: WindowBudget
  readonly clock: Clock
  readonly log: Logger
  readonly limits?: Partial<ClusterLimits>
  /** Resolves once the names of ended sessions are released in the database. */
  readonly released?: () => Promise<void>
  /** Serves the management API to peers that do not run it; undefined on a node that does not either. */
  readonly dialApi?: DialApi | undefined
  /** The identity of the history of the database, empty while it is unavailable. */
  readonly history?: (() => string) | undefined
  /** Called with each value that a peer publishes. */
  readonly receive?: ReceivePublished
  /** Whether this node counts, so that peers publish to it what they count. */
  readonly counts?: boolean
}

export interface ClusterLimits {
  /** Heartbeat interval of links. */
  beatMs: number
  /** How often a node renews its row and reads the list: a third of the time that the row lasts. */
  renewMs: number
  /** How long a node counts as alive without a heartbeat, and a link without traffic. */
  silenceMs: number
  /** How long a start waits for the registries of all peers. */
  introductionMs: number
  /** How long nodes see different histories before they count as nodes of different databases. */
  splitMs: number
}

const LIMITS: ClusterLimits = {
  beatMs: 1000,
  renewMs: 2000,
  silenceMs: 6000,
  introductionMs: 3000,
  splitMs: 10_000,
}

/**
 * Connects the nodes of one database: each keeps a link to every peer, registers the peer's tunnels in its own registry,
 * and opens streams through the link. Past the registry, nothing depends on where an agent is connected.
 */
export class Cluster {
  readonly #options: ClusterOptions
  readonly #limits: ClusterLimits
  readonly #secret: Buffer
  readonly #windows: WindowBudget
  readonly #publisher: RegistryPublisher
  readonly #listener: PeerListener | undefined
  readonly #flapGuard: FlapGuard
  readonly #histories: HistoryComparison
  readonly #links = new Map<string, Link>()
  #listed: readonly ListedNode[] = []
  #isListUnavailable = false
  #address: string | undefined
  #announcedAddresses = ''
  #onAddresses = () => {}
  #timer: NodeJS.Timeout | undefined
  #currentBeat: Promise<void> = Promise.resolve()
  #isBeating = false
  #isBeatDue = false
  #isStopped = true
  #isSignedOff = false

  constructor(options: ClusterOptions) {
    const { id, clock, log, listen, secureContext, released, dialApi, receive, counts } = options
    this.#options = options
    this.#limits = { ...LIMITS, ...options.limits }
    this.#secret = options.secret.reveal()
    this.#windows = options.windows ?? new WindowBudget()
    const { silenceMs } = this.#limits
    this.#flapGuard = new FlapGuard(clock, silenceMs)
    this.#histories = new HistoryComparison({ clock, log, toleranceMs: this.#limits.splitMs })
    this.#publisher = new RegistryPublisher({
      ...{ id, silenceMs, secret: this.#secret, windows: this.#windows, clock, log },
      ...{ released, dialApi, receive, counts },
      tunnelsIn: (session) => options.registry.tunnelsIn(session),
    })
    this.#listener =
      listen &&
      new PeerListener({
        ...{ listen, secureContext, log },
        handshakeTimeoutMs: silenceMs,
        onConnection: (socket, onPeer) =>
          this.#publisher.serve(socket, () => {
            onPeer()
            this.#beatSoon()
          }),
      })
  }

  /** The address for peers. */
  get address(): string | undefined {
    return this.#address
  }

  /** This node as its peers know it; undefined when they cannot dial it. */
  get self(): ListedNode | undefined {
    const { id, agentAddress } = this.#options
    return this.#address === undefined
      ? undefined
      : { id, address: this.#address, agentAddress: agentAddress?.() }
  }

  /** Agent addresses of all nodes, this one first. */
  get agentAddresses(): readonly string[] {
    if (this.#isStopped) return []
    const addresses = [
      this.#options.agentAddress?.(),
      ...this.#listed.map(({ agentAddress }) => agentAddress),
    ]
    return [...new Set(addresses.filter((address) => address !== undefined))]
  }

  /** A peer that runs the management API, if any. */
  get apiPeer() {
    for (const { apiPeer } of this.#links.values()) if (apiPeer !== undefined) return apiPeer
    return undefined
  }

  /** A peer that uses another database, if any. */
  get splitFrom(): string | undefined {
    return this.#histories.splitFrom
  }

  /** A session or tunnel of this node started or stopped. */
  onLive(event: LiveEvent): void {
    this.#publisher.onLiveEvent(event)
  }

  /** Resolves once the peers have registered what this node has published, all but counts. */
  published(): Promise<void> {
    return this.#publisher.published()
  }

  /** Opens a stream on a leg that the session of the tunnel has at a peer; undefined while there is no link to it. */
  openOnLeg(node: string, tunnel: LiveTunnel, client: ClientInfo): ByteStream | undefined {
    return this.#links.get(node)?.openOnLeg(tunnel, client)
  }

  /** Publishes values to the peers. */
  publish(topic: PeerTopic, values: readonly unknown[]): void {
    if (topic === 'revocation') for (const revocation of values) this.#publisher.send({ revocation })
    else if (this.#links.size > 0) {
      const lines = Buffer.from(values.map((each) => `${JSON.stringify(each)}\n`).join(''))
      for (const link of this.#links.values()) link.sendCounts(lines)
    }
  }

  /** Calls the listener whenever the agent addresses have changed. */
  followAddresses(listener: () => void): void {
    this.#onAddresses = listener
  }

  async start(): Promise<void> {
    this.#isStopped = false
    this.#isSignedOff = false
    const boundAddress = await this.#listener?.start()
    this.#address = boundAddress && (this.#options.advertise ?? boundAddress)
    // Without the database, dial the peers of the last list.
    const syncs = await this.#beat().catch(async (error) => {
      this.#options.log.warn({ err: error }, 'node list unavailable')
      return this.#reconcileLinks(await this.#options.nodes.list(), false)
    })
    await this.#waitForSyncs(syncs)
    this.#scheduleBeat()
  }

  /** Publishes a change of this node's row at once, and reads the registries of peers that are new in the list. */
  async announce(): Promise<void> {
    if (this.#isStopped) return
    await this.#beat().then(
      (syncs) => this.#waitForSyncs(syncs),
      (error) => this.#options.log.debug({ err: error }, 'node not announced'),
    )
  }

  /** Links with nodes that need not be in the list yet: without the database it does not tell of them. */
  async introduce(nodes: readonly ListedNode[]): Promise<void> {
    if (this.#isStopped) return
    const peers = nodes.filter(({ id }) => id !== this.#options.id)
    await Promise.all([this.#waitForSyncs(this.#reconcileLinks(peers, false)), this.announce()])
  }

  /** Removes this node from the list, so that agents and peers look for no new way to it. Links stay. */
  async leave(): Promise<void> {
    if (this.#isStopped || this.#isSignedOff) return
    // A node that has just joined is one that agents can move to.
    await this.#beat().catch((error) => this.#options.log.debug({ err: error }, 'node list not read'))
    await this.#signOff()
  }

  /** Lets clients of peers finish. `agentsMoved`: new clients of the agents that could move have another way. */
  async drain(limitMs: number, agentsMoved: boolean): Promise<void> {
    if (!this.#isStopped) await this.#publisher.drain(limitMs, agentsMoved)
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return
    await this.#signOff()
    this.#isStopped = true
    for (const link of this.#links.values()) link.close()
    this.#links.clear()
    this.#publisher.close()
    await this.#listener?.stop()
  }

  /** A peer that has just linked may be new: it has written its row before. */
  #beatSoon(): void {
    if (this.#timer === undefined || this.#isSignedOff) return
    if (this.#isBeating) this.#isBeatDue = true
    else this.#scheduleBeat(0)
  }

  #scheduleBeat(ms = this.#limits.renewMs): void {
    const { log } = this.#options
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#isBeating = true
      this.#isBeatDue = false
      this.#currentBeat = this.#beat()
        .then(
          () => {
            this.#isListUnavailable = false
          },
          (error) => {
            // Links stay: without the database no peer can be declared gone.
            if (!this.#isListUnavailable) log.warn({ err: error }, 'node list unavailable')
            this.#isListUnavailable = true
          },
        )
        .then(() => {
          this.#isBeating = false
          this.#compareHistories()
          if (!this.#isSignedOff) this.#scheduleBeat(this.#isBeatDue ? 0 : undefined)
        })
    }, ms)
    this.#timer.unref()
  }

  #compareHistories(): void {
    const history = this.#options.history?.() ?? ''
    this.#publisher.sendHistory(history)
    this.#histories.compare(
      history,
      [...this.#links].map(([id, link]) => [id, link.history]),
    )
  }

  /** Renews this node's row and reconciles the links with the list; resolves to their first syncs. */
  async #beat(): Promise<readonly Promise<void>[]> {
    const { id, nodes, agentAddress } = this.#options
    const expire = this.#flapGuard.isStable
    const peers = await nodes.heartbeat(
      { id, address: this.#address, agentAddress: agentAddress?.() },
      { ttlMs: this.#limits.silenceMs, expire },
    )
    // Checked again: a heartbeat that hung proves as little about the peers as one that failed.
    const complete = expire && this.#flapGuard.isStable
    this.#flapGuard.recordHeartbeat()
    return this.#reconcileLinks(peers, complete)
  }

  /** Keeps one link to each peer. An incomplete list removes none. */
  #reconcileLinks(peers: readonly ListedNode[], complete: boolean): readonly Promise<void>[] {
    const ids = new Set(peers.map((peer) => peer.id))
    const missing = this.#listed.filter((peer) => !ids.has(peer.id))
    this.#listed = complete ? peers : [...peers, ...missing]
    if (complete) for (const peer of missing) this.#links.get(peer.id)?.markUnlisted()
    this.#announceAddresses()
    return peers.map((peer) => {
      const existing = this.#links.get(peer.id)
      existing?.markListed(peer.address)
      return (existing ?? this.#createLink(peer)).synced
    })
  }

  #createLink(peer: Peer): Link {
    const { registry, clock, log, authorityPem, receive } = this.#options
    const { beatMs, silenceMs } = this.#limits
    const link = new Link(peer, {
      ...{ registry, beatMs, silenceMs, clock, log, authorityPem, receive },
      ...{ secret: this.#secret, windows: this.#windows },
      // Such as the workers of one server, which log their own starts.
      isOnSameHost: parseHostPort(peer.address)?.host === parseHostPort(this.#address ?? '')?.host,
      onRemoved: () => this.#links.delete(peer.id),
    })
    this.#links.set(peer.id, link)
    return link
  }

  #announceAddresses(): void {
    const addresses = this.agentAddresses.toSorted().join()
    if (addresses === this.#announcedAddresses) return
    this.#announcedAddresses = addresses
    this.#onAddresses()
  }

  /** Resolves once the registries of these peers are synced, or after the time that a start waits for them. */
  async #waitForSyncs(syncs: readonly Promise<void>[]): Promise<void> {
    const timeout = new Promise((resolve) => {
      setTimeout(resolve, this.#limits.introductionMs).unref()
    })
    await Promise.race([Promise.all(syncs), timeout])
  }

  async #signOff(): Promise<void> {
    if (this.#isSignedOff) return
    this.#isSignedOff = true
    clearTimeout(this.#timer)
    await this.#currentBeat
    const { id, nodes, log } = this.#options
    await nodes.leave(id).catch((error) => log.debug({ err: error }, 'node row not removed'))
  }
}

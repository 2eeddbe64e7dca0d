import type { SecureContext } from 'node:tls'
import type { Clock } from '../base/clock.ts'
import { WindowBudget } from '../base/io/window-budget.ts'
import type { Logger } from '../base/log.ts'
import type { Secret } from '../base/secret.ts'
import type { LiveEvent, Registry } from '../sessions/index.ts'
import { Link, type Peer } from './link.ts'
import { PeerListener } from './peer-listener.ts'
import { RegistryPublisher } from './registry-publisher.ts'
import { StabilityWindow } from './stability-window.ts'
import type { OpenApi } from './wire.ts'

/** A node of the membership list. */
interface ListedNode extends Peer {
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
  readonly openApi?: OpenApi | undefined
  /** Receives one value of those that a peer sends with `sendCounts`; undefined on a node that counts nothing. */
  readonly onCounts?: ((counts: unknown) => void) | undefined
}

export interface ClusterLimits {
  /** Heartbeat interval: how often a node renews its row and reads the list. */
  beatMs: number
  /** How long a node counts as alive without a heartbeat, and a link without traffic. */
  silenceMs: number
  /** How long a start waits for the registries of all peers. */
  introductionMs: number
}

const LIMITS: ClusterLimits = { beatMs: 1000, silenceMs: 6000, introductionMs: 3000 }

/**
 * Connects the nodes of one database: each keeps a link to every peer, registers the peer's tunnels in its own registry,
 * and opens streams through the link. Past the registry, nothing depends on where an agent is connected.
 */
export function createCluster(options: ClusterOptions) {
  const { nodes, id, registry, clock, log } = options
  const { beatMs, silenceMs, introductionMs } = { ...LIMITS, ...options.limits }
  const secret = options.secret.reveal()
  const windows = options.windows ?? new WindowBudget()
  const publisher = new RegistryPublisher({
    ...{ id, silenceMs, secret, windows, clock, log },
    released: options.released,
    openApi: options.openApi,
    onCounts: options.onCounts,
  })
  const links = new Map<string, Link>()
  const stability = new StabilityWindow(clock, silenceMs)
  let listed: readonly ListedNode[] = []
  const listener =
    options.listen &&
    new PeerListener({
      ...{ listen: options.listen, secureContext: options.secureContext, log },
      handshakeTimeoutMs: silenceMs,
      onConnection: (socket) => publisher.serve(socket),
    })
  let address: string | undefined
  let timer: NodeJS.Timeout | undefined
  let currentBeat: Promise<void> = Promise.resolve()
  let stopped = true
  let signedOff = false
  let listUnavailable = false
  let announcedAddresses = ''
  let onAddresses = () => {}

  /** Renews this node's row and reconciles the links with the list. */
  async function beat(): Promise<readonly Promise<void>[]> {
    const self = { id, address, agentAddress: options.agentAddress?.() }
    const expire = stability.isStable
    const peers = await nodes.heartbeat(self, { ttlMs: silenceMs, expire })
    // Checked again: a heartbeat that hung proves as little about the peers as one that failed.
    const complete = expire && stability.isStable
    stability.recordHeartbeat()
    return reconcileLinks(peers, complete)
  }

  /** Keeps one link to each peer. An incomplete list removes none. */
  function reconcileLinks(peers: readonly ListedNode[], complete: boolean): readonly Promise<void>[] {
    const ids = new Set(peers.map((peer) => peer.id))
    const missing = listed.filter((peer) => !ids.has(peer.id))
    listed = complete ? peers : [...peers, ...missing]
    if (complete) for (const peer of missing) links.get(peer.id)?.markUnlisted()
    announceAddresses()
    return peers.map((peer) => {
      const existing = links.get(peer.id)
      existing?.markListed(peer.address)
      return (existing ?? createLink(peer)).synced
    })
  }

  /** The agent addresses of all nodes, this one first. */
  function agentAddresses(): readonly string[] {
    if (stopped) return []
    const all = [options.agentAddress?.(), ...listed.map(({ agentAddress }) => agentAddress)]
    return [...new Set(all.filter((each) => each !== undefined))]
  }

  function announceAddresses(): void {
    const addresses = agentAddresses().toSorted().join()
    if (addresses === announcedAddresses) return
    announcedAddresses = addresses
    onAddresses()
  }

  function createLink(peer: Peer): Link {
    const link = new Link(peer, {
      ...{ registry, secret, windows, beatMs, silenceMs, clock, log },
      authorityPem: options.authorityPem,
      onRemoved: () => links.delete(peer.id),
    })
    links.set(peer.id, link)
    return link
  }

  /** Resolves once the registries of these peers are synced, or after the time that a start waits for them. */
  async function waitForSyncs(syncs: readonly Promise<void>[]): Promise<void> {
    const timeout = new Promise((resolve) => {
      setTimeout(resolve, introductionMs).unref()
    })
    await Promise.race([Promise.all(syncs), timeout])
  }

  function scheduleBeat(): void {
    timer = setTimeout(() => {
      currentBeat = beat()
        .then(
          () => {
            listUnavailable = false
          },
          (error) => {
            // Links stay: without the database no peer can be declared gone.
            if (!listUnavailable) log.warn({ err: error }, 'node list unavailable')
            listUnavailable = true
          },
        )
        .then(() => {
          if (!signedOff) scheduleBeat()
        })
    }, beatMs)
    timer.unref()
  }

  async function signOff(): Promise<void> {
    if (signedOff) return
    signedOff = true
    clearTimeout(timer)
    await currentBeat
    await nodes.leave(id).catch((error) => log.debug({ err: error }, 'node row not removed'))
  }

  return {
    /** A session or tunnel of this node started or stopped. */
    onLive: (event: LiveEvent) => publisher.onLiveEvent(event),

    /** Resolves once the peers have registered what this node has published. */
    published: () => publisher.published(),

    /** Tells the peers what was counted here. One that does not keep up misses some of it. */
    sendCounts(counts: readonly unknown[]): void {
      if (links.size === 0) return
      const lines = Buffer.from(counts.map((each) => `${JSON.stringify(each)}\n`).join(''))
      for (const link of links.values()) link.sendCounts(lines)
    },

    /** The address for peers. */
    get address() {
      return address
    },

    /** Agent addresses of all nodes, this one first. */
    get agentAddresses(): readonly string[] {
      return agentAddresses()
    },

    /** Calls the listener whenever the agent addresses have changed. */
    followAddresses(listener: () => void): void {
      onAddresses = listener
    },

    /** A peer that runs the management API, if any. */
    get apiPeer() {
      for (const { apiPeer } of links.values()) if (apiPeer !== undefined) return apiPeer
      return undefined
    },

    /** Publishes a change of this node's row at once, and reads the registries of peers that are new in the list. */
    async announce(): Promise<void> {
      if (stopped) return
      await beat().then(waitForSyncs, (error) => log.debug({ err: error }, 'node not announced'))
    },

    async start(): Promise<void> {
      stopped = false
      signedOff = false
      const boundAddress = await listener?.start()
      address = boundAddress && (options.advertise ?? boundAddress)
      // Without the database, dial the peers of the last list.
      const syncs = await beat().catch(async (error) => {
        log.warn({ err: error }, 'node list unavailable')
        return reconcileLinks(await nodes.list(), false)
      })
      await waitForSyncs(syncs)
      scheduleBeat()
    },

    /** Removes this node from the list, so that agents and peers look for no new way to it. Links stay. */
    async leave(): Promise<void> {
      if (stopped || signedOff) return
      // A node that has just joined is one that agents can move to.
      await beat().catch((error) => log.debug({ err: error }, 'node list not read'))
      await signOff()
    },

    /** Lets clients of peers finish. `agentsMoved`: new clients of the agents that could move have another way. */
    async drain(limitMs: number, agentsMoved: boolean): Promise<void> {
      if (!stopped) await publisher.drain(limitMs, agentsMoved)
    },

    async stop(): Promise<void> {
      if (stopped) return
      await signOff()
      stopped = true
      for (const link of links.values()) link.close()
      links.clear()
      publisher.close()
      await listener?.stop()
    },
  }
}

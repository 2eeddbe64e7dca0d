import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createServer, type SecureContext, type Server, type TLSSocket } from 'node:tls'
import { Admission } from '../base/admission.ts'
import type { Clock } from '../base/clock.ts'
import { joinHostPort } from '../base/hostport.ts'
import type { Logger } from '../base/log.ts'
import type { Secret } from '../base/secret.ts'
import type { LiveEvent, Registry } from '../sessions/index.ts'
import { Link, type Peer } from './link.ts'
import { Offers } from './registry-publisher.ts'
import { StabilityWindow } from './settling.ts'

/** A node as the list has it. */
interface ListedNode extends Peer {
  /** `host:port` where agents reach it; undefined when it takes none. */
  readonly agentAddress: string | undefined
}

export interface ClusterOptions {
  /** Which nodes there are. */
  readonly nodes: {
    /** `expire`: rows that were not renewed in time are removed; otherwise they still count. */
    beat(
      self: { id: string; address: string | undefined; agentAddress: string | undefined },
      times: { ttlMs: number; expire: boolean },
    ): Promise<readonly ListedNode[]>
    /** Those last heard of, while the list cannot be read. */
    lastKnown(): Promise<readonly ListedNode[]>
    leave(id: string): Promise<void>
  }
  /** New for every start: whoever was here before is somebody else. */
  readonly id: string
  readonly registry: Registry
  readonly secret: Secret<Buffer>
  /** The certificate for `NODE_NAME`, and the authority that all of them come from. */
  readonly secureContext: () => SecureContext
  readonly authorityPem: string
  /** Undefined when this node has no tunnels to offer. */
  readonly listen: { readonly host: string; readonly port: number } | undefined
  /** Where others reach it, when that is not the address bound. */
  readonly advertise?: string | undefined
  /** Where agents reach this node, once that is known. */
  readonly agentAddress?: () => string | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly limits?: Partial<ClusterLimits>
  /** Resolves once the names of sessions that have ended are released. */
  readonly released?: () => Promise<void>
}

export interface ClusterLimits {
  /** How often a node says that it is alive, and looks for others. */
  beatMs: number
  /** How long it counts as alive without saying so, or without a sign on a link. */
  silenceMs: number
  /** How long a stop waits for visitors of other nodes to finish. */
  drainMs: number
  /** How long a start waits to hear of all tunnels that are online elsewhere. */
  introductionMs: number
}

/** Links of other nodes, introduced or not: far more than there are nodes. */
const MAX_LINKS = 256

/** How long last words may take. */
const CLOSE_TIMEOUT_MS = 1000

const LIMITS: ClusterLimits = { beatMs: 1000, silenceMs: 6000, drainMs: 30_000, introductionMs: 3000 }

/**
 * Joins the nodes of one database: each keeps a link to every other, shows what is online there in its own registry,
 * and opens streams through the link. Past the registry nothing can tell where an agent is connected.
 */
export function createCluster(options: ClusterOptions) {
  const { nodes, id, registry, clock, log } = options
  const { beatMs, silenceMs, drainMs, introductionMs } = { ...LIMITS, ...options.limits }
  const secret = options.secret.reveal()
  const publisher = new Offers({ id, silenceMs, secret, clock, log, released: options.released })
  const links = new Map<string, Link>()
  const stability = new StabilityWindow(clock, silenceMs)
  let listed: readonly ListedNode[] = []
  const sockets = new Set<TLSSocket>()
  /** Every connection there is, also those that never get as far as TLS. */
  const rawSockets = new Set<Socket>()
  let server: Server | undefined
  let address: string | undefined
  let timer: NodeJS.Timeout | undefined
  let currentBeat: Promise<void> = Promise.resolve()
  let stopped = true
  let signedOff = false
  let listUnavailable = false

  async function open(): Promise<void> {
    if (options.listen === undefined) return
    server = createServer(
      {
        SNICallback: (_name, callback) => callback(null, options.secureContext()),
        minVersion: 'TLSv1.3',
        handshakeTimeout: silenceMs,
      },
      (socket) => {
        socket.on('error', (error) => log.debug({ err: error }, 'peer connection failed'))
        publisher.serve(socket)
      },
    )
    server.on('tlsClientError', (error, socket) => {
      log.debug({ err: error }, 'peer connection failed')
      socket.destroy()
    })
    const admission = new Admission({ total: MAX_LINKS })
    server.on('connection', (raw) => {
      if (!admission.admit(raw)) return
      raw.setNoDelay(true)
      rawSockets.add(raw)
      raw.once('close', () => rawSockets.delete(raw))
    })
    server.on('secureConnection', (socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
    server.listen(options.listen.port, options.listen.host)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    address = options.advertise ?? joinHostPort(options.listen.host, port)
  }

  /** Says that this node is alive, and links with those that are. */
  async function beat(): Promise<readonly Promise<void>[]> {
    const self = { id, address, agentAddress: options.agentAddress?.() }
    const expire = stability.isStable
    const peers = await nodes.beat(self, { ttlMs: silenceMs, expire })
    // Judged again: a beat that hung says as little about the others as one that failed.
    const complete = expire && stability.isStable
    stability.recordHeartbeat()
    return reconcileLinks(peers, complete)
  }

  /** Keeps one link to each peer. A list that is not known to be complete ends none. */
  function reconcileLinks(peers: readonly ListedNode[], complete: boolean): readonly Promise<void>[] {
    const ids = new Set(peers.map((peer) => peer.id))
    const missing = listed.filter((peer) => !ids.has(peer.id))
    listed = complete ? peers : [...peers, ...missing]
    if (complete) for (const peer of missing) links.get(peer.id)?.markUnlisted()
    return peers.map((peer) => {
      const existing = links.get(peer.id)
      existing?.markListed(peer.address)
      return (existing ?? createLink(peer)).synced
    })
  }

  function createLink(peer: Peer): Link {
    const link = new Link(peer, {
      ...{ registry, secret, beatMs, silenceMs, clock, log },
      authorityPem: options.authorityPem,
      onRemoved: () => links.delete(peer.id),
    })
    links.set(peer.id, link)
    return link
  }

  function scheduleBeat(): void {
    timer = setTimeout(() => {
      currentBeat = beat()
        .then(
          () => {
            listUnavailable = false
          },
          (error) => {
            // Links stay as they are: without the database nobody can say who has gone.
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
    signedOff = true
    clearTimeout(timer)
    await currentBeat
    await nodes.leave(id).catch((error) => log.debug({ err: error }, 'this node could not sign off'))
  }

  return {
    /** A session or tunnel of this node came or went. */
    onLive: (event: LiveEvent) => publisher.onLive(event),

    /** Where others reach this node. */
    get address() {
      return address
    },

    /** Where agents reach the nodes of this platform, this one first. */
    get agentAddresses(): readonly string[] {
      const all = [options.agentAddress?.(), ...listed.map(({ agentAddress }) => agentAddress)]
      return [...new Set(all.filter((each) => each !== undefined))]
    },

    /** Tells the others at once that something about this node has changed. */
    async announce(): Promise<void> {
      await beat().catch((error) => log.debug({ err: error }, 'node not announced'))
    },

    async start(): Promise<void> {
      stopped = false
      await open()
      // A node that comes up while the database is away goes to those who were there before.
      const syncs = await beat().catch(async (error) => {
        log.warn({ err: error }, 'node list unavailable')
        return reconcileLinks(await nodes.lastKnown(), false)
      })
      const timeout = new Promise((resolve) => {
        setTimeout(resolve, introductionMs).unref()
      })
      await Promise.race([Promise.all(syncs), timeout])
      scheduleBeat()
    },

    /** Signs off, and lets visitors of other nodes finish. */
    async drain(): Promise<void> {
      if (stopped) return
      await signOff()
      await publisher.drain(drainMs)
    },

    async stop(): Promise<void> {
      if (stopped) return
      await signOff()
      stopped = true
      for (const link of links.values()) link.close()
      links.clear()
      publisher.close()
      if (server === undefined) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroySoon()
      const closeTimer = setTimeout(() => {
        for (const socket of rawSockets) socket.destroy()
      }, CLOSE_TIMEOUT_MS)
      await closed
      clearTimeout(closeTimer)
    },
  }
}

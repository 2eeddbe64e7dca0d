import { timingSafeEqual } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { WindowBudget } from '../base/io/memory/window-budget.ts'
import type { ByteStream } from '../base/io/streams/stream.ts'
import { StreamRelay } from '../base/io/streams/stream-relay.ts'
import { fanOut } from '../base/limits/fan-out.ts'
import type { Logger } from '../base/process/log.ts'
import type { Clock } from '../base/values/clock.ts'
import {
  CallReader,
  ErrorCode,
  HeartbeatEcho,
  MESSAGE_TIMEOUT_MS,
  MuxError,
  MuxSession,
  type MuxStream,
  ProtocolError,
  ping,
  StreamType,
  TypeReader,
  Watchdog,
} from '../protocol/index.ts'
import {
  type ClientInfo,
  type Command,
  keepsNames,
  type LiveEvent,
  type LiveSession,
  type LiveTunnel,
} from '../sessions/index.ts'
import { LineReader } from './json-lines.ts'
import { Watcher } from './watcher.ts'
import {
  type ApiHeader,
  type DialApi,
  type OpenHeader,
  PeerStream,
  type ReceivePublished,
  type RegistryEvent,
  toLegsEvent,
  toSessionSnapshot,
  toTunnelSnapshot,
  type WatchReport,
} from './wire.ts'

/** High enough for all clients of a node: the tunnels enforce their own limits. */
const MAX_STREAMS = 65_536
const MAX_STREAMS_BEFORE_HELLO = 4
/** A response that pauses for longer than this counts as complete when a node stops. */
const IDLE_THRESHOLD_MS = 1000

interface RegistryPublisherOptions {
  /** The id of this node, so that a peer knows who answered. */
  id: string
  /** Silence after which a peer counts as dead. */
  silenceMs: number
  /** The secret shared by the nodes of one database. */
  secret: Buffer
  /** Shared by the windows of all links. */
  windows: WindowBudget
  clock: Clock
  log: Logger
  /** The tunnels of a session of this node or of a peer. */
  tunnelsIn(session: LiveSession): readonly LiveTunnel[]
  /** Resolves once the names of ended sessions are released in the database. */
  released?: (() => Promise<void>) | undefined
  /** Serves the management API to peers that do not run it; undefined on a node that does not either. */
  dialApi?: DialApi | undefined
  /** Called with what peers have counted, if this node counts too. */
  receive?: ReceivePublished | undefined
  counts?: boolean | undefined
}

/** Publishes the sessions and tunnels of this node to its peers, and serves their streams and calls. */
export class RegistryPublisher {
  readonly #options: RegistryPublisherOptions
  readonly #sessions = new Map<string, LiveSession>()
  readonly #tunnels = new Map<string, LiveTunnel>()
  /** Sessions with legs to this node, also those of peers. */
  readonly #legged = new Map<string, LiveSession>()
  readonly #watchers = new Set<Watcher>()
  readonly #links = new Set<MuxSession>()
  readonly #relays = new Set<StreamRelay>()
  #agentsMoved = false
  #history = ''

  constructor(options: RegistryPublisherOptions) {
    this.#options = options
  }

  /** Records a change and sends it to every watcher. */
  onLiveEvent(event: LiveEvent): void {
    // Peers learn from the other node that a tunnel or session has only moved, some of them later than this one; streams
    // that they open until then are still served here.
    if (!('end' in event && event.end === 'moved')) this.send(this.#record(event))
  }

  /** Sends an event to every watcher. */
  send(event: RegistryEvent): void {
    fanOut(
      this.#watchers,
      (watcher) => watcher.send(event),
      (err) => this.#options.log.error({ err }, 'registry event not sent to peer'),
    )
  }

  /** Tells every watcher, also later ones, which history this node sees. */
  sendHistory(history: string): void {
    if (history === this.#history) return
    this.#history = history
    this.send({ history })
  }

  /** Resolves once every peer has registered what was published so far; those that are slow are not waited for. */
  async published(): Promise<void> {
    await Promise.all([...this.#watchers].map((watcher) => watcher.caughtUp()))
  }

  /** Serves a peer on its connection. */
  serve(transport: Duplex, onPeer: () => void): void {
    const { clock, log, silenceMs } = this.#options
    let peer: { readonly knowsLegs: boolean } | undefined
    const link: MuxSession = new MuxSession(transport, {
      role: 'server',
      clock,
      onStream: (stream) => {
        stream.sink = new TypeReader(
          stream,
          (type) => {
            if (type === StreamType.Heartbeat) stream.sink = new HeartbeatEcho(stream)
            else if (type === PeerStream.Hello)
              stream.sink = this.#handleCall(stream, (message) => {
                if (!this.#isPeer(message.secret))
                  throw new ProtocolError('The secret does not match this database.')
                peer = { knowsLegs: message.legs === true }
                clearTimeout(helloTimer)
                onPeer()
                link.maxIncoming = MAX_STREAMS
                const measure = () => void ping(link, clock, silenceMs)
                const maxWindow = link.agreeOnWindows(
                  message.maxWindow,
                  this.#options.windows.forSession(),
                  measure,
                )
                link.acceptNotes()
                const { id: node, dialApi, counts = false } = this.#options
                return { node, maxWindow, api: dialApi !== undefined, counts, notes: true }
              })
            else if (peer !== undefined) this.#accept(type, stream, peer)
            else stream.reset(new MuxError(ErrorCode.Protocol, 'Hello is required first.'))
          },
          MESSAGE_TIMEOUT_MS,
        )
      },
      onClose: () => {
        watchdog.stop()
        clearTimeout(helloTimer)
        this.#links.delete(link)
      },
      onInternalError: (error) => log.error({ err: error }, 'peer stream failed'),
    })
    link.maxIncoming = MAX_STREAMS_BEFORE_HELLO
    // Any bytes keep a link alive, so Hello has a deadline of its own.
    const helloTimer = setTimeout(() => {
      link.close(ErrorCode.Protocol, `No Hello within ${silenceMs} ms.`)
    }, silenceMs)
    const watchdog = new Watchdog(link, silenceMs, clock)
    this.#links.add(link)
  }

  /**
   * Resolves once no client of a peer is in flight here, or at the deadline. With `agentsMoved`, new ones are rejected, except
   * at tunnels of agents that could not move: those are served while others drain, and not waited for. Streams that
   * were answered and are idle since are keep-alive connections of the peer, and not waited for either.
   */
  async drain(waitMs: number, agentsMoved: boolean): Promise<void> {
    this.#agentsMoved = agentsMoved
    const relays = agentsMoved ? new Set(this.#relays) : this.#relays
    const deadline = this.#options.clock.monotonic() + waitMs
    const lastChunks = new Map<StreamRelay, number>()
    const isActive = (relay: StreamRelay) =>
      this.#relays.has(relay) && (relay.awaitingReply || lastChunks.get(relay) !== relay.chunks)
    while ([...relays].some(isActive) && this.#options.clock.monotonic() < deadline) {
      for (const relay of relays) lastChunks.set(relay, relay.chunks)
      await delay(IDLE_THRESHOLD_MS)
    }
  }

  close(): void {
    fanOut(
      [...this.#links],
      (link) => link.close(),
      (err) => this.#options.log.error({ err }, 'peer link close failed'),
    )
  }

  #isPeer(secret: unknown): boolean {
    const presented = Buffer.from(String(secret), 'base64')
    const { secret: expected } = this.#options
    return presented.length === expected.length && timingSafeEqual(presented, expected)
  }

  #accept(type: number, stream: MuxStream, peer: { readonly knowsLegs: boolean }): void {
    if (type === PeerStream.Watch) this.#watch(stream, peer.knowsLegs)
    else if (type === PeerStream.Open)
      stream.sink = new LineReader<OpenHeader>(stream, (header) => this.#openStream(header, stream))
    else if (type === PeerStream.Api)
      stream.sink = new LineReader<ApiHeader>(stream, (header) =>
        this.#relay(stream, () => {
          const { dialApi } = this.#options
          if (dialApi === undefined)
            throw new MuxError(ErrorCode.StreamRefused, 'This node does not run the API.')
          return dialApi(header)
        }),
      )
    else if (type === PeerStream.Counts)
      stream.sink = new LineReader<unknown>(stream, (counts) => this.#addCounts(counts))
    else if (type === PeerStream.Command)
      stream.sink = this.#handleCall(stream, async ({ session, command }) => {
        const outcome = await this.#sessions.get(String(session))?.command(command as Command)
        return { outcome: outcome ?? null }
      })
    else if (type === PeerStream.Probe)
      stream.sink = this.#handleCall(stream, async ({ session }) => {
        const outcome = await this.#sessions.get(String(session))?.probe()
        // The peer claims the names next, so their release must be stored before.
        await this.#options.released?.()
        return { outcome: outcome ?? 'gone' }
      })
    else if (type === PeerStream.End)
      stream.sink = this.#handleCall(stream, ({ session, reason }) => {
        // A credential that was revoked is seen by each node itself.
        this.#sessions.get(String(session))?.end(String(reason))
        return {}
      })
    else stream.reset(new MuxError(ErrorCode.Protocol, `There is no kind ${type} of stream.`))
  }

  #watch(stream: MuxStream, knowsLegs: boolean): void {
    const watcher = new Watcher(stream, knowsLegs)
    stream.sink = new LineReader<WatchReport>(
      stream,
      ({ applied }) => watcher.reportApplied(applied),
      () => {
        this.#watchers.delete(watcher)
        watcher.stopWaiting()
      },
    )
    stream.urgent = true
    for (const session of this.#sessions.values()) watcher.send({ session: toSessionSnapshot(session) })
    for (const tunnel of this.#tunnels.values()) watcher.send({ tunnel: toTunnelSnapshot(tunnel) })
    for (const session of this.#legged.values()) watcher.send(toLegsEvent(session))
    watcher.send({ history: this.#history })
    watcher.send({ complete: true })
    this.#watchers.add(watcher)
  }

  #addCounts(counts: unknown): void {
    try {
      this.#options.receive?.('counts', counts)
    } catch (error) {
      // Another release may count something else.
      this.#options.log.warn({ err: error }, 'counts of peer rejected')
    }
  }

  #openStream({ tunnel: id, session: sessionId, visitor: client }: OpenHeader, stream: MuxStream): void {
    this.#relay(stream, () => {
      if (sessionId !== undefined) return this.#openOnLeg(sessionId, id, client)
      const tunnel = this.#tunnels.get(id)
      if (tunnel === undefined) throw new MuxError(ErrorCode.StreamRefused, 'The tunnel is offline.')
      if (this.#agentsMoved && ['moving', 'moved'].includes(tunnel.session.state))
        throw new MuxError(ErrorCode.StreamRefused, 'The agent has moved to another node.')
      return tunnel.open(client)
    })
  }

  /** On a leg alone: the peer has no other way to the agent either. */
  #openOnLeg(sessionId: string, tunnelId: string, client: ClientInfo): ByteStream {
    const session = this.#legged.get(sessionId)
    const tunnel = session && this.#options.tunnelsIn(session).find(({ id }) => id === tunnelId)
    if (session?.legs === undefined || tunnel === undefined)
      throw new MuxError(ErrorCode.StreamRefused, 'The agent has no leg to this node.')
    return session.legs.open(tunnel, client)
  }

  #relay(stream: MuxStream, open: () => ByteStream): void {
    try {
      this.#relays.add(
        new StreamRelay(stream, open(), (relay) => {
          this.#relays.delete(relay)
        }),
      )
    } catch (error) {
      stream.reset(error as Error)
    }
  }

  #handleCall(stream: MuxStream, handler: (message: Record<string, unknown>) => object | Promise<object>) {
    return new CallReader(stream, handler, (error) =>
      this.#options.log.error({ err: error }, 'peer call failed'),
    )
  }

  #record(event: LiveEvent): RegistryEvent {
    switch (event.type) {
      case 'session_started':
        this.#sessions.set(event.session.id, event.session)
        return { session: toSessionSnapshot(event.session) }
      case 'session_changed':
        return { sessionChanged: toSessionSnapshot(event.session) }
      case 'session_stopped':
        this.#sessions.delete(event.session.id)
        return { sessionGone: event.session.id, kept: keepsNames(event.end) }
      case 'legs_changed': {
        const { session } = event
        if (session.legs === undefined || session.legs.all.length === 0) this.#legged.delete(session.id)
        else this.#legged.set(session.id, session)
        return toLegsEvent(session)
      }
      case 'tunnel_started':
        this.#tunnels.set(event.tunnel.id, event.tunnel)
        return { tunnel: toTunnelSnapshot(event.tunnel) }
      case 'tunnel_changed':
        return { tunnelChanged: toTunnelSnapshot(event.tunnel) }
      case 'tunnel_stopped': {
        const { id, sessionId, bindId } = event.tunnel
        this.#tunnels.delete(id)
        return { tunnelGone: { sessionId, bindId, kept: event.end === 'lost' } }
      }
    }
  }
}

import type { Duplex } from 'node:stream'
import type { WindowBudget } from '../base/io/memory/window-budget.ts'
import type { ByteStream } from '../base/io/streams/stream.ts'
import type { Logger } from '../base/process/log.ts'
import type { Clock } from '../base/values/clock.ts'
import {
  call,
  Heartbeat,
  MAX_WINDOW,
  MuxSession,
  type MuxStream,
  ProtocolError,
  typeBytes,
  Watchdog,
} from '../protocol/index.ts'
import type { ClientInfo, LiveTunnel, Registry } from '../sessions/index.ts'
import { LineReader, writeLine } from './json-lines.ts'
import { type PeerLink, RemoteSession } from './remote-session.ts'
import {
  type ApiHeader,
  addressOf,
  type OpenHeader,
  PeerStream,
  type ReceivePublished,
  type RegistryEvent,
  type SessionSnapshot,
  type TunnelSnapshot,
  type WatchReport,
} from './wire.ts'

/** Longer than an agent may take to respond to a command. */
const CALL_TIMEOUT_MS = 15_000

export interface RemoteRegistryOptions {
  /** The node expected to answer. */
  readonly peerId: string
  readonly registry: Registry
  readonly secret: Buffer
  /** Shared by the windows of all links. */
  readonly windows: WindowBudget
  /** The heartbeat interval, and the silence after which the peer counts as dead. */
  readonly beatMs: number
  readonly silenceMs: number
  readonly clock: Clock
  readonly log: Logger
  /** Called with the revocations that the peer publishes. */
  readonly receive?: ReceivePublished | undefined
  /** The peer's registry is completely registered here. */
  onSynced(): void
  onClose(): void
}

/** Registers the sessions and tunnels of a peer in the local registry while the link is up. */
export class RemoteRegistry {
  readonly #options: RemoteRegistryOptions
  readonly #link: MuxSession
  readonly #watchdog: Watchdog
  readonly #sessions = new Map<string, RemoteSession>()
  /** Tunnels not bound yet: their address is still held by a tunnel whose end is in transit on another link. */
  readonly #rejected = new Map<string, TunnelSnapshot>()
  /** Tunnels of orphaned sessions that are linked again; the peer has not announced them again yet. */
  readonly #unconfirmed = new Set<LiveTunnel>()
  #retry: NodeJS.Timeout | undefined
  #servesApi = false
  #history = ''
  #counts: MuxStream | undefined
  /** Serializes events, even when one waits for a port. */
  #applying: Promise<void> = Promise.resolve()
  /** Events of the watch stream so far. */
  #applied = 0

  constructor(transport: Duplex, options: RemoteRegistryOptions) {
    const { clock, log, silenceMs, beatMs } = options
    this.#options = options
    this.#link = new MuxSession(transport, {
      role: 'client',
      clock,
      onStream: (stream) => stream.reset(),
      onClose: () => this.#onClosed(),
      onInternalError: (error) => log.error({ err: error }, 'peer stream failed'),
    })
    this.#watchdog = new Watchdog(this.#link, silenceMs, clock)
    void this.#start(beatMs)
  }

  close(): void {
    this.#link.close()
  }

  /** Whether the peer runs the management API. */
  get servesApi(): boolean {
    return this.#servesApi && !this.#link.closed
  }

  /** The identity of the history that the peer sees; empty while it cannot tell. */
  get history(): string {
    return this.#history
  }

  /** Opens a connection to the management API of the peer. */
  dialApi(header: ApiHeader): ByteStream {
    return this.#openWith(PeerStream.Api, header)
  }

  /** Opens a stream on a leg that the session of the tunnel has at the peer. */
  openOnLeg({ id, sessionId }: LiveTunnel, client: ClientInfo): ByteStream {
    return this.#openWith(PeerStream.Open, { tunnel: id, session: sessionId, visitor: client })
  }

  /** Sends lines with what was counted here, if the peer counts too and keeps up: counts are approximate, and memory is not. */
  sendCounts(lines: Buffer): void {
    if (this.#counts?.blocked === false) this.#counts.write(lines)
  }

  async #start(beatMs: number): Promise<void> {
    try {
      const hello = { secret: this.#options.secret.toString('base64'), maxWindow: MAX_WINDOW, legs: true }
      const {
        Error: rejection,
        node,
        maxWindow,
        api,
        counts,
        notes,
      } = await this.#peer.call(PeerStream.Hello, hello)
      if (rejection !== undefined) throw new ProtocolError(String(rejection))
      // After a restart another incarnation answers, which has its own link. The previous release sends no node id.
      if (node !== undefined && node !== this.#options.peerId)
        throw new ProtocolError('Another node answers at this address.')
      this.#servesApi = api === true
      this.#link.sendsNotes = notes === true
      this.#link.agreeOnWindows(maxWindow, this.#options.windows.forSession())
      new Heartbeat(this.#link, beatMs, this.#options.clock, () => {})
      if (counts === true) this.#counts = this.#link.open(typeBytes(PeerStream.Counts))
      const watch = this.#link.open(typeBytes(PeerStream.Watch))
      watch.sink = new LineReader<RegistryEvent>(
        watch,
        (event) => this.#enqueue(event, watch),
        (error) => this.#link.destroy(error),
      )
    } catch (error) {
      this.#link.destroy(error as Error)
    }
  }

  readonly #peer: PeerLink = {
    call: (type, message, timeoutMs = CALL_TIMEOUT_MS) => call(this.#link, type, message, timeoutMs),
    open: (tunnel, client) => this.#openWith(PeerStream.Open, { tunnel, visitor: client }),
  }

  /** Applies an event of the watch stream, and reports it there: one report for those that arrive together. */
  #enqueue(event: RegistryEvent, watch?: MuxStream): void {
    const applying = this.#applying
      .then(() => this.#apply(event))
      .catch((error) => this.#options.log.warn({ err: error }, 'peer registry event rejected'))
      .then(() => {
        if (watch === undefined) return
        this.#applied++
        if (this.#applying === applying && !this.#link.closed)
          writeLine(watch, { applied: this.#applied } satisfies WatchReport)
      })
    this.#applying = applying
  }

  #apply(event: RegistryEvent): void | Promise<void> {
    const { registry } = this.#options
    if (this.#link.closed) return
    if ('session' in event) this.#addSession(event.session)
    else if ('sessionChanged' in event)
      this.#sessions.get(event.sessionChanged.id)?.change(event.sessionChanged)
    else if ('legs' in event) registry.reportLegs(this.#options.peerId, event.legs.sessionId, event.legs.legs)
    else if ('history' in event) this.#history = event.history
    else if ('revocation' in event) this.#options.receive?.('revocation', event.revocation)
    else if ('tunnel' in event) return this.#bindOrRetry(event.tunnel)
    else if ('tunnelChanged' in event) this.#patch(event.tunnelChanged)
    else if ('tunnelGone' in event) {
      const { sessionId, bindId, kept } = event.tunnelGone
      this.#rejected.delete(bindKey(event.tunnelGone))
      const session = this.#sessions.get(sessionId)
      // `kept`: the session is lost, which the next event says. Legs here may still serve it.
      if (session !== undefined && !(kept && session.hasLegs))
        registry.unbind(session, bindId, kept ? 'lost' : 'closed')
    } else if ('sessionGone' in event) {
      const session = this.#sessions.get(event.sessionGone)
      this.#sessions.delete(event.sessionGone)
      // Legs that the home may still have serve no new streams.
      registry.reportLegs(this.#options.peerId, event.sessionGone, [])
      if (event.kept) session?.orphan()
      else if (session !== undefined) registry.removeSession(session, 'closed')
    } else if ('complete' in event) this.#complete()
  }

  #addSession(snapshot: SessionSnapshot): void {
    const { registry, clock } = this.#options
    const known = registry.session(snapshot.accountId, snapshot.id)
    if (known instanceof RemoteSession && known.relink(this.#peer)) {
      this.#sessions.set(known.id, known)
      known.change(snapshot)
      for (const tunnel of registry.tunnelsIn(known)) this.#unconfirmed.add(tunnel)
    } else {
      const session = new RemoteSession(snapshot, this.#peer, registry, clock)
      this.#sessions.set(session.id, session)
      registry.addSession(session)
    }
  }

  /** The peer has announced everything; a tunnel that it did not announce again has ended meanwhile. */
  #complete(): void {
    const { registry, onSynced } = this.#options
    for (const tunnel of this.#unconfirmed)
      if (registry.tunnelsIn(tunnel.session).includes(tunnel)) registry.unbind(tunnel.session, tunnel.bindId)
    this.#unconfirmed.clear()
    onSynced()
  }

  #patch(snapshot: TunnelSnapshot): void {
    const { sessionId, bindId, name, description, metadata, options, poolingEnabled, poolingWeight } =
      snapshot
    const session = this.#sessions.get(sessionId)
    // One that waits for its address is bound as it is now.
    if (this.#rejected.has(bindKey(snapshot))) this.#rejected.set(bindKey(snapshot), snapshot)
    else if (session !== undefined)
      this.#options.registry.patch(session, bindId, {
        ...{ name, description, metadata, options, poolingEnabled },
        ...(poolingWeight !== undefined && { poolingWeight }),
      })
  }

  /** Binds the tunnel, or retries until its address is free. */
  async #bindOrRetry(snapshot: TunnelSnapshot): Promise<void> {
    const key = bindKey(snapshot)
    try {
      await this.#bind(snapshot)
      this.#rejected.delete(key)
    } catch (error) {
      const { id: tunnel, url } = snapshot
      if (!this.#rejected.has(key))
        this.#options.log.warn({ tunnel, url, err: error }, 'peer tunnel not bound: retrying')
      this.#rejected.set(key, snapshot)
      this.#retryLater()
    }
  }

  #retryLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      for (const snapshot of this.#rejected.values()) this.#enqueue({ tunnel: snapshot })
    }, this.#options.beatMs)
    this.#retry.unref()
  }

  async #bind(snapshot: TunnelSnapshot): Promise<void> {
    const { registry } = this.#options
    const { id, startedAt, sessionId, bindId, fence, reservationId, name, description, metadata } = snapshot
    const { forwardsTo, forwardsProto, poolingEnabled, poolingWeight = 1, options } = snapshot
    const session = this.#sessions.get(sessionId)
    if (session === undefined) return
    const address = addressOf(snapshot)
    // A public port is opened on every node, unless it is in use there.
    if (address.proto === 'tcp' && address.internalTo === undefined) await registry.acquirePort(address.port)
    if (!registry.has(session)) return
    registry.bind(session, {
      ...{ bindId, fence, address, reservationId, name, description, metadata },
      ...{ forwardsTo, forwardsProto, poolingEnabled, poolingWeight, options },
      identity: { id, startedAt },
      open: (tunnel, client) => session.open(tunnel, client),
    })
  }

  #openWith(type: number, header: OpenHeader | ApiHeader): ByteStream {
    return this.#link.open(Buffer.concat([typeBytes(type), Buffer.from(`${JSON.stringify(header)}\n`)]))
  }

  #onClosed(): void {
    this.#watchdog.stop()
    clearTimeout(this.#retry)
    this.#options.registry.forgetLegs(this.#options.peerId)
    // The agents are about to reconnect, here or elsewhere: their names get a grace period.
    for (const session of this.#sessions.values()) session.orphan()
    this.#sessions.clear()
    this.#options.onClose()
  }
}

function bindKey({ sessionId, bindId }: { sessionId: string; bindId: string }): string {
  return `${sessionId}/${bindId}`
}

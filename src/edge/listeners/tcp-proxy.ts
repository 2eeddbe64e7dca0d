import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { joinHostPort } from '../../base/hostport.ts'
import { Pipe, type PipeResult } from '../../base/io/pipe.ts'
import { resetSocket } from '../../base/io/reset.ts'
import type { ByteStream } from '../../base/io/stream.ts'
import { Timed } from '../../base/io/timer-wheel.ts'
import type { Target } from '../backend.ts'
import type { Connection } from '../connection.ts'
import type { Core, LiveConnection } from '../core.ts'
import { Refusal } from '../errors.ts'
import type { RawEntry } from '../table.ts'
import type { Visitor } from '../tunnels.ts'

/** However many targets a backend has, one connection does not go round them all. */
const MAX_ATTEMPTS = 8

/** Everything that is known when a raw connection may be joined with its stream. */
export interface TcpProxyOptions {
  readonly core: Core
  /** The bytes' carrier: the TCP socket, or the TLS socket around it. */
  readonly socket: Duplex
  readonly transport: Socket
  readonly connection: Connection
  readonly entry: RawEntry
  readonly proto: 'tcp' | 'tls'
  /** True when the bytes are still the visitor's TLS. */
  readonly passthroughTls: boolean
  /** Bytes already taken from the socket. */
  readonly initialBytes: Buffer | undefined
  /** The entry that would serve the connection if it came now. */
  currentEntry(): RawEntry | undefined
}

/** Lets a visitor in or not; says so by ending the connection, there being no other way to say anything. */
export function admitConnection(core: Core, connection: Connection, entry: RawEntry): boolean {
  const rejection = checkAdmission(core, connection, entry)
  if (rejection === undefined) return true
  reportConnection(core, connection, entry, { bytesIn: 0, bytesOut: 0, error: undefined }, rejection)
  return false
}

/** Why an entry does not let a visitor in; undefined when it does. */
function checkAdmission(core: Core, connection: Connection, entry: RawEntry): unknown {
  try {
    for (const step of entry.admission ?? []) step(connection)
    return undefined
  } catch (error) {
    entry.counters.refusals++
    if (!(error instanceof Refusal)) core.log.error({ err: error }, 'an admission failed inside the edge')
    return error
  }
}

/** A connection whose bytes are carried as they are, until both sides have ended. */
export class TcpProxyConnection extends Timed implements LiveConnection {
  readonly #options: TcpProxyOptions
  readonly #pipe: Pipe
  #lastBytesMoved = -1
  /** Set when the visitor was let in and a change of the configuration ended that. */
  #rejection: unknown

  private constructor(options: TcpProxyOptions, stream: ByteStream) {
    super()
    const { core, socket, transport } = options
    this.#options = options
    core.live.add(this)
    const end = { socket, abort: () => resetSocket(transport, socket) }
    this.#pipe = new Pipe(end, stream, core.turn, options.initialBytes, (result) => this.#onClose(result))
    options.entry.traffic.open.add(this.#pipe)
    core.deadlines.set(this, core.limits.progress)
  }

  /** Opens a stream for the visitor, or ends the connection when nobody is there. */
  static start(options: TcpProxyOptions): void {
    options.entry.counters.connections++
    options.entry.traffic.connections++
    const stream = openStream(options)
    if (stream !== undefined) new TcpProxyConnection(options, stream)
    else resetSocket(options.transport, options.socket)
  }

  /** Nothing tells such a visitor to come back later: it has until the end of the stop. */
  drain(): void {}

  destroy(): void {
    this.#pipe.abort(new Error('The edge was stopped.'))
  }

  /** An open connection must obey a changed configuration as well. */
  recheck(): void {
    const { core, connection } = this.#options
    const entry = this.#options.currentEntry()
    this.#rejection = entry && checkAdmission(core, connection, entry)
    if (
      entry === undefined ||
      entry.policy?.key !== connection.policy?.key ||
      this.#rejection !== undefined
    ) {
      this.#pipe.abort(new Error('The configuration does not admit this connection any more.'))
    }
  }

  /** An idle connection may stay, but one that has bytes to move must move them (P16). */
  onDeadline(): void {
    const { core } = this.#options
    const bytesMoved = this.#pipe.bytesIn + this.#pipe.bytesOut - this.#pipe.pending
    if (this.#pipe.waiting && bytesMoved === this.#lastBytesMoved) {
      this.#pipe.abort(new Error('Nothing moved for too long.'))
      return
    }
    this.#lastBytesMoved = bytesMoved
    core.deadlines.set(this, core.limits.progress)
  }

  #onClose(result: PipeResult): void {
    const { core, connection, entry } = this.#options
    core.live.delete(this)
    core.deadlines.clear(this)
    entry.traffic.open.delete(this.#pipe)
    entry.traffic.bytesIn += result.bytesIn
    entry.traffic.bytesOut += result.bytesOut
    if (result.error !== undefined) entry.counters.errors++
    reportConnection(core, connection, entry, result, this.#rejection)
  }
}

function openStream({ entry, connection, proto, passthroughTls }: TcpProxyOptions): ByteStream | undefined {
  const client: Visitor = {
    clientAddress: joinHostPort(connection.remoteAddress, connection.remotePort),
    serverAddress: joinHostPort(connection.localAddress, connection.localPort),
    proto,
    via: entry.via,
    passthroughTls,
  }
  const failedTargets: Target[] = []
  for (;;) {
    const target = entry.backend(failedTargets)
    if (target === undefined || failedTargets.length === MAX_ATTEMPTS) return undefined
    try {
      return target.open(client)
    } catch {
      // Too busy, or gone since: perhaps another one is not.
      failedTargets.push(target)
    }
  }
}

function reportConnection(
  core: Core,
  connection: Connection,
  entry: RawEntry,
  result: PipeResult,
  rejection: unknown,
): void {
  const { observer } = core
  if (observer?.wantsConnections(entry.accountId) !== true) return
  try {
    observer.onConnection({
      accountId: entry.accountId,
      entryId: entry.id,
      connection,
      endedAt: core.clock.now(),
      bytesIn: result.bytesIn,
      bytesOut: result.bytesOut,
      notes: buildNotes(entry, rejection),
      errorCode: rejection instanceof Refusal ? rejection.code : undefined,
    })
  } catch (err) {
    // An observer's failure must not reach the socket that has ended, where nothing catches it.
    core.log.error({ err }, 'end of a connection was not reported')
  }
}

/** What the event says of the entry's own IP restriction; nothing where there is none, or something else refused. */
function buildNotes({ restricted }: RawEntry, rejection: unknown): Record<string, string> {
  if (rejection instanceof Refusal && rejection.name === 'address_denied')
    return { 'ip_policy.decision': 'block' }
  return restricted && rejection === undefined ? { 'ip_policy.decision': 'allow' } : {}
}

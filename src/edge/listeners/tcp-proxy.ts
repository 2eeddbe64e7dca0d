import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Pipe, type PipeResult } from '../../base/io/pipe.ts'
import { resetSocket } from '../../base/io/reset.ts'
import type { ByteStream } from '../../base/io/stream.ts'
import { TimerEntry } from '../../base/io/timer-wheel.ts'
import { MAX_ATTEMPTS, type UpstreamTarget } from '../backend.ts'
import type { ClientConnection } from '../connection.ts'
import { connectionLogs } from '../connection-logs.ts'
import type { Core, LiveConnection } from '../core.ts'
import { EdgeError } from '../errors.ts'
import type { RawEntry } from '../table.ts'
import { clientInfoOf } from '../tunnels.ts'

/** An admitted raw connection and the entry that serves it. */
export interface TcpProxyOptions {
  readonly core: Core
  /** The TCP socket, or the TLS socket around it. */
  readonly socket: Duplex
  readonly transport: Socket
  readonly connection: ClientConnection
  readonly entry: RawEntry
  readonly proto: 'tcp' | 'tls'
  /** True when the edge does not terminate the client's TLS. */
  readonly passthroughTls: boolean
  /** Bytes already read from the socket. */
  readonly initialBytes: Buffer | undefined
  /** The entry that would serve a new connection now. */
  currentEntry(): RawEntry | undefined
}

/** Runs admission steps of an entry and reports a rejection; the caller then resets the connection. */
export function admitConnection(
  core: Core,
  connection: ClientConnection,
  entry: RawEntry,
  steps: RawEntry['admission'] = entry.admission,
): boolean {
  const rejection = checkAdmission(core, connection, entry, steps)
  if (rejection === undefined) return true
  reportConnection(core, connection, entry, { bytesIn: 0, bytesOut: 0, error: undefined }, rejection)
  return false
}

/** Returns why the entry rejects the connection; undefined when it admits it. */
function checkAdmission(
  core: Core,
  connection: ClientConnection,
  entry: RawEntry,
  steps: RawEntry['admission'] = [],
): unknown {
  try {
    for (const step of steps) step(connection)
    return undefined
  } catch (error) {
    entry.counters.rejections++
    if (!(error instanceof EdgeError))
      core.log.error({ err: error }, 'admission step failed with an internal error')
    return error
  }
}

/** A connection whose bytes are proxied unchanged until both sides have ended. */
export class TcpProxyConnection extends TimerEntry implements LiveConnection {
  readonly #options: TcpProxyOptions
  readonly #pipe: Pipe
  #lastProgress = -1
  /** Set when a configuration change revoked the admission. */
  #rejection: unknown

  private constructor(options: TcpProxyOptions, stream: ByteStream) {
    super()
    const { core, socket, transport } = options
    this.#options = options
    core.connections.add(this)
    this.#pipe = new Pipe(stream, core.flushScheduler, (result) => this.#onClose(result))
    this.#pipe.attach({ socket, abort: () => resetSocket(transport, socket) }, options.initialBytes)
    options.entry.traffic.open.add(this.#pipe)
    core.timers.set(this, core.limits.progress)
  }

  /** Opens a stream to a target, or resets the connection when none is available. */
  static start(options: TcpProxyOptions): void {
    options.entry.counters.connections++
    options.entry.traffic.connections++
    const stream = openStream(options)
    if (stream !== undefined) new TcpProxyConnection(options, stream)
    else resetSocket(options.transport, options.socket)
  }

  /** TCP has no way to announce a shutdown: the connection may last until `limits.drain` is over. */
  drain(): void {}

  destroy(): void {
    this.#pipe.abort(new Error('The edge was stopped.'))
  }

  /** An open connection must obey a changed configuration too. */
  revalidate(): void {
    const { core, connection } = this.#options
    const entry = this.#options.currentEntry()
    const steps = [...(entry?.admission ?? []), ...(entry?.securedAdmission ?? [])]
    this.#rejection = entry && checkAdmission(core, connection, entry, steps)
    if (
      entry === undefined ||
      entry.policy?.key !== connection.policy?.key ||
      this.#rejection !== undefined
    ) {
      this.#pipe.abort(new Error('The configuration no longer admits this connection.'))
    }
  }

  /** An idle connection stays open, but one with bytes to transfer must make progress (P16). */
  onDeadline(): void {
    const { core } = this.#options
    const { waiting, progress } = this.#pipe
    if (waiting && progress === this.#lastProgress) {
      this.#pipe.abort(new Error('The connection made no progress.'))
      return
    }
    this.#lastProgress = progress
    core.timers.set(this, core.limits.progress)
  }

  #onClose(result: PipeResult): void {
    const { core, connection, entry } = this.#options
    core.connections.delete(this)
    core.timers.clear(this)
    entry.traffic.open.delete(this.#pipe)
    entry.traffic.bytesIn += result.bytesIn
    entry.traffic.bytesOut += result.bytesOut
    if (result.error !== undefined) entry.counters.errors++
    reportConnection(core, connection, entry, result, this.#rejection)
  }
}

function openStream({ entry, connection, proto, passthroughTls }: TcpProxyOptions): ByteStream | undefined {
  const client = clientInfoOf(connection, proto, entry.via, passthroughTls)
  const failedTargets: UpstreamTarget[] = []
  for (;;) {
    const target = entry.backend(failedTargets)
    if (target === undefined || failedTargets.length === MAX_ATTEMPTS) return undefined
    try {
      return target.open(client)
    } catch {
      // The target is busy or offline: try another one.
      failedTargets.push(target)
    }
  }
}

function reportConnection(
  core: Core,
  connection: ClientConnection,
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
      logs: connectionLogs(connection, entry.accountId),
      errorCode: rejection instanceof EdgeError ? rejection.code : undefined,
    })
  } catch (err) {
    // Nothing catches an exception of the observer in the close handler of the socket.
    core.log.error({ err }, 'connection observer failed')
  }
}

/** The decision of the entry's own IP restriction; empty when it has none, or when another step rejected. */
function buildNotes({ restricted }: RawEntry, rejection: unknown): Record<string, string> {
  if (rejection instanceof EdgeError && rejection.name === 'address_denied')
    return { 'ip_policy.decision': 'block' }
  return restricted && rejection === undefined ? { 'ip_policy.decision': 'allow' } : {}
}

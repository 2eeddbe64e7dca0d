import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TimerEntry } from '../../base/io/memory/timer-wheel.ts'
import { Pipe, type PipeResult } from '../../base/io/streams/pipe.ts'
import { resetSocket } from '../../base/io/streams/reset.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import type { ClientConnection } from '../contracts/connection.ts'
import { connectionLogs } from '../contracts/connection-logs.ts'
import type { EdgeRuntime, LiveConnection } from '../contracts/runtime.ts'
import type { TcpHost } from '../contracts/table.ts'
import { EdgeError } from '../errors.ts'
import type { ForwardChain } from './forward-chain.ts'

/** An admitted TCP connection and the hosts that serve it. */
export interface TcpProxyOptions {
  readonly runtime: EdgeRuntime
  /** The TCP socket, or the TLS socket around it. */
  readonly socket: Duplex
  readonly transport: Socket
  readonly connection: ClientConnection
  readonly chain: ForwardChain
  /** Bytes already read from the socket. */
  readonly initialBytes: Buffer | undefined
  /** The host that would serve a new connection now. */
  currentHost(): TcpHost | undefined
}

/**
 * Runs the connection steps of a path; reports and returns why they reject the connection, which the caller then ends.
 * Undefined for a connection that is admitted.
 */
export function rejectionOf(
  runtime: EdgeRuntime,
  connection: ClientConnection,
  chain: ForwardChain,
  phase: 'connectionSteps' | 'securedConnectionSteps' = 'connectionSteps',
): unknown {
  const rejection = chain.admit(connection, phase)
  if (rejection !== undefined)
    reportConnection(
      runtime,
      connection,
      chain.first,
      { bytesIn: 0, bytesOut: 0, error: undefined },
      rejection,
    )
  return rejection
}

/** A connection whose bytes are proxied unchanged until both sides have ended. */
export class TcpProxyConnection extends TimerEntry implements LiveConnection {
  readonly #options: TcpProxyOptions
  readonly #pipe: Pipe
  #lastProgress = -1
  /** Set when a configuration change denies what was admitted. */
  #rejection: unknown

  private constructor(options: TcpProxyOptions, stream: ByteStream) {
    super()
    const { runtime, socket, transport } = options
    this.#options = options
    runtime.connections.add(this)
    this.#pipe = new Pipe(stream, runtime.flushScheduler, (result) => this.#onClose(result))
    this.#pipe.attach({ socket, abort: () => resetSocket(transport, socket) }, options.initialBytes)
    options.chain.first.traffic.open.add(this.#pipe)
    runtime.timers.set(this, runtime.limits.progress)
  }

  /** Opens a stream to a target, or resets the connection when none is available. */
  static start(options: TcpProxyOptions): void {
    const { chain, connection } = options
    chain.first.counters.connections++
    chain.first.traffic.connections++
    options.runtime.traffic.countClient(chain.first.traffic, connection)
    const stream = chain.open(connection)
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
    const { connection, chain } = this.#options
    const host = this.#options.currentHost()
    this.#rejection = host && chain.revalidate(connection, host)
    if (host === undefined || host.tlsPolicy?.key !== chain.tlsPolicyKey || this.#rejection !== undefined) {
      this.#pipe.abort(new Error('The configuration no longer admits this connection.'))
    }
  }

  /** An idle connection stays open, but one with bytes to transfer must make progress (P16). */
  onDeadline(): void {
    const { runtime } = this.#options
    const { waiting, progress } = this.#pipe
    if (waiting && progress === this.#lastProgress) {
      this.#pipe.abort(new Error('The connection made no progress.'))
      return
    }
    this.#lastProgress = progress
    runtime.timers.set(this, runtime.limits.progress)
  }

  #onClose(result: PipeResult): void {
    const { runtime, connection, chain } = this.#options
    const host = chain.first
    runtime.connections.delete(this)
    runtime.timers.clear(this)
    host.traffic.open.delete(this.#pipe)
    host.traffic.bytesIn += result.bytesIn
    host.traffic.bytesOut += result.bytesOut
    if (result.error !== undefined) host.counters.errors++
    reportConnection(runtime, connection, host, result, this.#rejection)
  }
}

function reportConnection(
  runtime: EdgeRuntime,
  connection: ClientConnection,
  host: TcpHost,
  result: PipeResult,
  rejection: unknown,
): void {
  const { observer } = runtime
  if (observer?.wantsConnections(host.accountId) !== true) return
  try {
    observer.onConnection({
      accountId: host.accountId,
      hostId: host.id,
      connection,
      endedAt: runtime.clock.now(),
      bytesIn: result.bytesIn,
      bytesOut: result.bytesOut,
      annotations: buildAnnotations(host, rejection),
      logs: connectionLogs(connection, host.accountId),
      errorCode: rejection instanceof EdgeError ? rejection.code : undefined,
    })
  } catch (err) {
    // Nothing catches an exception of the observer in the close handler of the socket.
    runtime.log.error({ err }, 'connection observer failed')
  }
}

/** The decision of the host's own IP restriction; empty when it has none, or when another step rejected. */
function buildAnnotations({ restricted }: TcpHost, rejection: unknown): Record<string, string> {
  if (rejection instanceof EdgeError && rejection.name === 'address_denied')
    return { 'ip_policy.decision': 'block' }
  return restricted && rejection === undefined ? { 'ip_policy.decision': 'allow' } : {}
}

import type { ByteStream } from '../../base/io/streams/stream.ts'
import type { EdgeResponse } from '../response/response.ts'
import type { Exchange } from './exchange.ts'
import type { ClientInfo } from './tunnels.ts'
import type { Upstream } from './upstream.ts'

/** Sends requests to one target, on pooled or new connections. */
export interface Pool {
  connect(exchange: Exchange, target: UpstreamTarget, fresh: boolean): Upstream
}

/** An upstream to connect to: a tunnel, or an address dialled directly. */
export interface UpstreamTarget {
  /** The address behind it, for logs. */
  readonly name: string
  /** Absent when the target is not a tunnel. */
  readonly tunnelId?: string | undefined
  /** Sends the requests; its connections are never shared with another target. */
  readonly pool: Pool
  /** Changes when streams that are opened from now on may take a better path than earlier ones. Absent: it never does. */
  readonly pathRevision?: number | undefined
  open(client: ClientInfo): ByteStream
}

/** A stream closes with this error when the dial failed: the upstream has received nothing, so a retry is safe. */
export class DialError extends Error {
  override name = 'DialError'
}

/** Max targets that one request or connection tries, however many its backend has. */
export const MAX_ATTEMPTS = 8

/**
 * Selects a target to connect to, or responds itself. Called again with the targets that could not be reached when a retry
 * is safe; undefined means that no target remains.
 */
export type HttpBackend = (
  exchange: Exchange,
  failedTargets: readonly UpstreamTarget[],
) => UpstreamTarget | EdgeResponse | undefined

/** Selects a target for a TCP connection, given the targets that could not be reached. */
export type TcpBackend = (failedTargets: readonly UpstreamTarget[]) => UpstreamTarget | undefined

export function isEdgeResponse(result: UpstreamTarget | EdgeResponse): result is EdgeResponse {
  return 'body' in result
}

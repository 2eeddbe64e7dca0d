import type { ByteStream } from '../base/io/stream.ts'
import type { Exchange } from './exchange.ts'
import type { Answer } from './response.ts'
import type { Visitor } from './tunnels.ts'
import type { Upstream } from './upstream/upstream.ts'

/** Sends requests to one target, on connections it keeps or makes. */
export interface Pool {
  connect(exchange: Exchange, target: Target, fresh: boolean): Upstream
}

/** Something that can be connected to: a tunnel, or an address dialled directly. */
export interface Target {
  /** What is behind it, for people to read. */
  readonly name: string
  /** Absent when it is no tunnel. */
  readonly tunnelId?: string | undefined
  /** Where requests go; connections made here are never shared with another target. */
  readonly pool: Pool
  open(client: Visitor): ByteStream
}

/** A stream closes with this when it never reached the other side, so nothing that was written has been seen. */
export class DialFailed extends Error {
  override name = 'DialFailed'
}

/**
 * Picks who answers: a target to connect to, or an answer. Asked again with a higher `attempt` when the target of the
 * attempt before could not be connected to and nothing was lost (`exchange.tried` holds those); undefined then means
 * that there is nobody else.
 */
export type HttpBackend = (exchange: Exchange, attempt: number) => Target | Answer | undefined

/** The same for raw connections, given the targets that could not be connected to. */
export type RawBackend = (tried: readonly Target[]) => Target | undefined

export function isAnswer(result: Target | Answer): result is Answer {
  return 'body' in result
}

import type { ByteStream } from '../base/stream.ts'
import type { Answer } from './answer.ts'
import type { Exchange } from './exchange.ts'
import type { Visitor } from './tunnels.ts'
import type { UpstreamPool } from './upstream-pool.ts'

/** Something that can be connected to: a tunnel, or an address dialled directly. */
export interface Target {
  /** What is behind it, for people to read. */
  readonly name: string
  /** Where requests go; connections made here are never shared with another target. */
  readonly pool: UpstreamPool
  open(visitor: Visitor): ByteStream
}

/**
 * Picks who answers: a target to connect to, or an answer. Asked again with a higher `attempt` when the target of the
 * attempt before could not be connected to and nothing was lost; undefined then means that there is nobody else.
 */
export type HttpBackend = (exchange: Exchange, attempt: number) => Target | Answer | undefined

/** The same for raw connections. */
export type RawBackend = (attempt: number) => Target | undefined

export function isAnswer(result: Target | Answer): result is Answer {
  return 'body' in result
}

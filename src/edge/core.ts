import type { Clock } from '../base/clock.ts'
import type { ByteBudgets } from '../base/io/byte-budget.ts'
import type { Turn } from '../base/io/flush-scheduler.ts'
import type { Deadlines } from '../base/io/timer-wheel.ts'
import type { Logger } from '../base/log.ts'
import type { EdgeLimits } from './limits.ts'
import type { Observer } from './observe.ts'
import type { Table } from './table.ts'
import type { Traffic } from './traffic.ts'

/** A visitor's connection as the edge keeps it, to be ended with the edge. */
export interface LiveConnection {
  /** Finishes what is under way and takes nothing new. */
  drain(): void
  destroy(): void
  /** Called after the configuration changed, so that open connections obey it too. */
  recheck(): void
}

/** What all connections of one edge share. */
export interface Core {
  readonly turn: Turn
  readonly deadlines: Deadlines
  readonly clock: Clock
  readonly log: Logger
  readonly limits: EdgeLimits
  readonly live: Set<LiveConnection>
  /** Upstream connections kept for the next request. */
  readonly idle: Set<{ close(): void }>
  readonly observer: Observer | undefined
  /** What the visitors of each account do. */
  readonly traffic: Traffic
  /** Charged for request bodies that are held until a module has seen all of them. */
  readonly heldBodies: ByteBudgets
  /** The answer to an ACME validation of a host over HTTP (RFC 8555 section 8.3). */
  readonly challenge: ((token: string, host: string) => string | undefined) | undefined
  /** The ports visitors use; plain ones are sent to the first to come back with TLS. */
  publicHttpsPort: number
  publicHttpPort: number
  /** The routing table. Each request reads it anew; configuration changes are applied to it entry by entry. */
  table: Table
  draining: boolean
}

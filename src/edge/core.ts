import type { Clock } from '../base/clock.ts'
import type { ByteBudgets } from '../base/io/byte-budget.ts'
import type { Turn } from '../base/io/flush-scheduler.ts'
import type { Deadlines } from '../base/io/timer-wheel.ts'
import type { Logger } from '../base/log.ts'
import type { EdgeLimits } from './limits.ts'
import type { Observer } from './observe.ts'
import type { Table } from './table.ts'
import type { Traffic } from './traffic.ts'

/** A client connection that the edge tracks, so that a stop or a configuration change reaches it. */
export interface LiveConnection {
  /** Finishes the exchanges in flight and accepts no new ones. */
  drain(): void
  destroy(): void
  /** Called after the configuration changed, so that open connections obey the change too. */
  recheck(): void
}

/** State shared by all connections of one edge. */
export interface Core {
  readonly turn: Turn
  readonly deadlines: Deadlines
  readonly clock: Clock
  readonly log: Logger
  readonly limits: EdgeLimits
  readonly live: Set<LiveConnection>
  /** Idle upstream connections, pooled for the next request. */
  readonly idle: Set<{ close(): void }>
  readonly observer: Observer | undefined
  /** Traffic totals of each account. */
  readonly traffic: Traffic
  /** Charged for request bodies that are held until a module has read them (decision 120). */
  readonly heldBodies: ByteBudgets
  /** Returns the response to an ACME HTTP challenge of a host (RFC 8555 section 8.3). */
  readonly challenge: ((token: string, host: string) => string | undefined) | undefined
  /** The ports clients connect to; plain requests are redirected to the first. */
  publicHttpsPort: number
  publicHttpPort: number
  /** The routing table. Each request reads it anew; configuration changes are applied to it entry by entry. */
  table: Table
  draining: boolean
}

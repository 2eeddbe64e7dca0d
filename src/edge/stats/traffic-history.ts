import { deleteOldest } from '../../base/limits/delete-oldest.ts'
import type { AccountTraffic } from './traffic.ts'

/** The length of one interval. */
export const HISTORY_INTERVAL_MS = 10_000
/** One hour. */
const INTERVALS = 360
/** Accounts that have a history on this node: some 12 KB each. The account that has been idle for longest loses its own. */
const MAX_ACCOUNTS = 1000
/** Requests, connections, bytes in and out, and responses with a 1xx to 5xx status. */
const FIELDS = 9

/** The traffic of an account in equal intervals, the oldest first: what was counted in each. */
export interface TrafficHistoryView {
  readonly interval_seconds: number
  readonly requests: readonly number[]
  readonly connections: readonly number[]
  readonly bytes_in: readonly number[]
  readonly bytes_out: readonly number[]
  /** Responses by status class: 1xx, 2xx, 3xx, 4xx, 5xx. */
  readonly statuses: readonly (readonly number[])[]
}

/** A ring of intervals; those after `last` were without traffic. */
interface Ring {
  readonly counts: Float32Array
  last: number
}

/** The traffic of the last hour, in memory. */
export class TrafficHistory {
  readonly #rings = new Map<string, Ring>()
  /** The totals at the last sample, for accounts that have had traffic. */
  readonly #sampled = new WeakMap<AccountTraffic, Float64Array>()
  /** The number of samples so far. */
  #now = 0

  /** Ends an interval. Accounts without traffic cost a comparison. */
  sample(accounts: Iterable<readonly [string, AccountTraffic]>): void {
    for (const [accountId, traffic] of accounts) {
      const previous = this.#sampled.get(traffic)
      if (isUnchanged(traffic, previous)) continue
      const totals = totalsOf(traffic)
      this.#sampled.set(traffic, totals)
      const ring = this.#advance(accountId)
      const start = (this.#now % INTERVALS) * FIELDS
      for (let field = 0; field < FIELDS; field++)
        ring.counts[start + field] = Math.max(0, totals[field]! - (previous?.[field] ?? 0))
    }
    this.#now++
  }

  /** The intervals since the start of the process, at most an hour. */
  viewOf(accountId: string): TrafficHistoryView {
    const ring = this.#rings.get(accountId)
    const first = Math.max(0, this.#now - INTERVALS)
    const column = (field: number) =>
      Array.from({ length: this.#now - first }, (_, index) => countAt(ring, first + index, field))
    return {
      interval_seconds: HISTORY_INTERVAL_MS / 1000,
      requests: column(0),
      connections: column(1),
      bytes_in: column(2),
      bytes_out: column(3),
      statuses: [4, 5, 6, 7, 8].map(column),
    }
  }

  /** The ring of the account, with the intervals since its last traffic cleared, as the newest of all rings. */
  #advance(accountId: string): Ring {
    const ring = this.#rings.get(accountId) ?? {
      counts: new Float32Array(INTERVALS * FIELDS),
      last: this.#now,
    }
    for (let interval = Math.max(ring.last + 1, this.#now - INTERVALS); interval < this.#now; interval++) {
      const start = (interval % INTERVALS) * FIELDS
      ring.counts.fill(0, start, start + FIELDS)
    }
    ring.last = this.#now
    this.#rings.delete(accountId)
    this.#rings.set(accountId, ring)
    if (this.#rings.size > MAX_ACCOUNTS) deleteOldest(this.#rings)
    return ring
  }
}

function countAt(ring: Ring | undefined, interval: number, field: number): number {
  if (ring === undefined || interval > ring.last || interval <= ring.last - INTERVALS) return 0
  return ring.counts[(interval % INTERVALS) * FIELDS + field]!
}

/** Open connections count their own bytes, so an account that has some is always looked at. */
function isUnchanged(traffic: AccountTraffic, previous: Float64Array | undefined): boolean {
  if (traffic.open.size > 0) return false
  if (previous === undefined) return traffic.requests === 0 && traffic.connections === 0
  return (
    traffic.requests === previous[0] &&
    traffic.connections === previous[1] &&
    traffic.bytesIn === previous[2] &&
    traffic.bytesOut === previous[3]
  )
}

function totalsOf(traffic: AccountTraffic): Float64Array {
  let { bytesIn, bytesOut } = traffic
  for (const counter of traffic.open) {
    bytesIn += counter.bytesIn
    bytesOut += counter.bytesOut
  }
  return Float64Array.of(
    traffic.requests,
    traffic.connections,
    bytesIn,
    bytesOut,
    ...traffic.statuses.slice(1),
  )
}

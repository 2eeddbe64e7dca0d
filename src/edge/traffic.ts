/** Something that carries bytes and knows how many so far. */
export interface ByteCounter {
  readonly bytesIn: number
  readonly bytesOut: number
}

/** What visitors of one account have done since the start. Counting is an addition, never a look-up. */
export interface AccountTraffic {
  requests: number
  /** Requests that are over, whichever way. */
  finished: number
  /** Raw connections: TCP, and TLS that carries no HTTP. */
  connections: number
  /** Bytes of bodies, and of raw connections that are over. */
  bytesIn: number
  bytesOut: number
  /** Responses by the first digit of their status; the first place stays 0. */
  readonly statuses: [number, number, number, number, number, number]
  /** Raw connections that are open; they count their bytes themselves. */
  readonly open: Set<ByteCounter>
}

/** The same at one moment. */
export interface TrafficTotals {
  readonly requests: number
  readonly connections: number
  readonly bytes_in: number
  readonly bytes_out: number
  /** Responses with a 1xx, 2xx, 3xx, 4xx and 5xx status. */
  readonly statuses: readonly number[]
  /** Requests under way now. */
  readonly open_requests: number
  readonly open_connections: number
}

export function newTraffic(): AccountTraffic {
  return {
    requests: 0,
    finished: 0,
    connections: 0,
    bytesIn: 0,
    bytesOut: 0,
    statuses: [0, 0, 0, 0, 0, 0],
    open: new Set(),
  }
}

/** The traffic of all accounts: entries take their account's when they are compiled, and add to it. */
export class Traffic {
  readonly #byAccount = new Map<string, AccountTraffic>()

  of(accountId: string): AccountTraffic {
    let traffic = this.#byAccount.get(accountId)
    if (traffic === undefined) {
      traffic = newTraffic()
      this.#byAccount.set(accountId, traffic)
    }
    return traffic
  }

  /** How an account stands now. */
  totals(accountId: string): TrafficTotals {
    const traffic = this.#byAccount.get(accountId) ?? newTraffic()
    let { bytesIn, bytesOut } = traffic
    for (const counter of traffic.open) {
      bytesIn += counter.bytesIn
      bytesOut += counter.bytesOut
    }
    return {
      requests: traffic.requests,
      connections: traffic.connections,
      bytes_in: bytesIn,
      bytes_out: bytesOut,
      statuses: traffic.statuses.slice(1),
      open_requests: traffic.requests - traffic.finished,
      open_connections: traffic.open.size,
    }
  }
}

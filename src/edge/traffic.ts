/** Counts the bytes of one open connection. */
export interface ByteCounter {
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Traffic of one account since the start of the process. Entries hold it, so counting needs no look-up. */
export interface AccountTraffic {
  requests: number
  /** Requests that have ended, successfully or not. */
  finished: number
  /** Raw connections: TCP, and TLS that carries no HTTP. */
  connections: number
  /** Bytes of bodies, and of raw connections that have closed. */
  bytesIn: number
  bytesOut: number
  /** Responses by the first digit of their status; index 0 is unused. */
  readonly statuses: [number, number, number, number, number, number]
  /** Open raw connections, which count their own bytes. */
  readonly open: Set<ByteCounter>
}

/** A snapshot of an account's traffic. */
interface TrafficTotals {
  readonly requests: number
  readonly connections: number
  readonly bytes_in: number
  readonly bytes_out: number
  /** Responses with a 1xx, 2xx, 3xx, 4xx and 5xx status. */
  readonly statuses: readonly number[]
  /** Requests in flight. */
  readonly open_requests: number
  readonly open_connections: number
}

export function createAccountTraffic(): AccountTraffic {
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

/** The traffic of all accounts. Entries look up their account's once, when they are compiled. */
export class Traffic {
  readonly #byAccount = new Map<string, AccountTraffic>()

  forAccount(accountId: string): AccountTraffic {
    let traffic = this.#byAccount.get(accountId)
    if (traffic === undefined) {
      traffic = createAccountTraffic()
      this.#byAccount.set(accountId, traffic)
    }
    return traffic
  }

  /** The totals of an account, open connections included. */
  totals(accountId: string): TrafficTotals {
    const traffic = this.#byAccount.get(accountId) ?? createAccountTraffic()
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
  /** Every account that has an entry, with its traffic. */
  accounts(): Iterable<readonly [string, AccountTraffic]> {
    return this.#byAccount
  }
}

import { type IpData, NO_IP_DATA } from '../../policy/index.ts'
import type { ClientConnection } from '../contracts/connection.ts'
import { ResponseTimes } from './response-times.ts'

/** There are some 250 countries; a database with more would be wrong. */
const MAX_COUNTRIES = 300

/** Counts the bytes of one open connection. */
export interface ByteCounter {
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Traffic of one account since the start of the process. Hosts hold it, so counting needs no look-up. */
export interface AccountTraffic {
  requests: number
  /** Requests that have ended, successfully or not. */
  finished: number
  /** TCP connections: those of TCP endpoints, and of TLS that carries no HTTP. */
  connections: number
  /** Bytes of bodies, and of TCP connections that have closed. */
  bytesIn: number
  bytesOut: number
  /** Responses by the first digit of their status; index 0 is unused. */
  readonly statuses: [number, number, number, number, number, number]
  readonly responseTimes: ResponseTimes
  /** Open TCP connections, which count their own bytes. */
  readonly open: Set<ByteCounter>
  /** Connections of clients by the code of their country; behind a trusted proxy, requests. */
  readonly countries: Map<string, number>
}

/** The clients of one country. `country` is its code in two letters, or null for addresses whose country is not known. */
export interface CountryCount {
  readonly country: string | null
  readonly connections: number
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
    responseTimes: new ResponseTimes(),
    open: new Set(),
    countries: new Map(),
  }
}

/** The traffic of all accounts. Hosts look up their account's once, when they are compiled. */
export class Traffic {
  readonly #byAccount = new Map<string, AccountTraffic>()
  readonly #ipData: IpData

  constructor(ipData = NO_IP_DATA) {
    this.#ipData = ipData
  }

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

  /** Counts a client by its country, as far as imported data knows it. */
  countClient(traffic: AccountTraffic, connection: ClientConnection): void {
    connection.countedBy = traffic
    const { countries } = traffic
    const code = this.#ipData.lookUp(connection.remoteAddress)?.location?.country_code
    const country =
      typeof code === 'string' && (countries.size < MAX_COUNTRIES || countries.has(code)) ? code : ''
    countries.set(country, (countries.get(country) ?? 0) + 1)
  }

  /** The clients of an account by country, the most first. */
  countries(accountId: string): CountryCount[] {
    return [...(this.#byAccount.get(accountId)?.countries ?? [])]
      .map(([country, connections]) => ({ country: country || null, connections }))
      .sort((one, other) => other.connections - one.connections)
  }

  /** Every account that has a host, with its traffic. */
  accounts(): Iterable<readonly [string, AccountTraffic]> {
    return this.#byAccount
  }
}

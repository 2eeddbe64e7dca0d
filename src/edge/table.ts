import type { HttpBackend, RawBackend } from './backend.ts'
import type { TlsPolicy } from './listeners/tls-policy.ts'
import type { ConnectionStep, RequestStep } from './module.ts'
import type { AccountTraffic } from './traffic.ts'

/** Counts of one route or raw entry since the start. */
export interface EntryCounters {
  requests: number
  connections: number
  refusals: number
  errors: number
}

/** A path of an entry with everything that happens to a request there, compiled. */
export interface Route {
  readonly id: string
  /** Who may come at all; undefined when nobody is kept out. */
  readonly admission: readonly ConnectionStep[] | undefined
  /** Undefined when nothing happens to requests on the way in, so that the bare path costs nothing. */
  readonly steps: readonly RequestStep[] | undefined
  readonly backend: HttpBackend
  readonly counters: EntryCounters
}

/** A host name that answers HTTP: an agent's endpoint or an HTTPS edge. */
export interface HttpEntry {
  readonly kind: 'http'
  /** Id of the tunnel or edge. */
  readonly id: string
  readonly accountId: string
  /** Of the whole account. */
  readonly traffic: AccountTraffic
  /** How TLS is terminated for this host; compared on every request (P33). Undefined for plain HTTP. */
  readonly policy: TlsPolicy | undefined
  /** Set when plain HTTP is only told to come back with https. */
  readonly redirectToHttps: boolean
  routeFor(target: string): Route
}

/** A server name or port whose bytes are carried as they are. */
export interface RawEntry {
  readonly kind: 'raw'
  readonly id: string
  readonly accountId: string
  /** Of the whole account. */
  readonly traffic: AccountTraffic
  /** What kind of entry it is to whoever is connected to. */
  readonly via: 'endpoint' | 'tcp-edge' | 'tls-edge'
  /** Undefined: the visitor's TLS, or its plain bytes, pass through untouched. */
  readonly policy: TlsPolicy | undefined
  /** Who may come at all; decided before the handshake. */
  readonly admission: readonly ConnectionStep[] | undefined
  /** Whether an IP restriction of its own is among that. */
  readonly restricted: boolean
  readonly backend: RawBackend
  readonly counters: EntryCounters
}

/** All configuration at one moment, compiled: whom to ask for a host, a server name or a port. */
export interface Table {
  /** Who answers HTTP for this host. */
  http(scheme: 'http' | 'https', host: string): HttpEntry | undefined
  /** Who gets a TLS connection with this server name. */
  tls(serverName: string): HttpEntry | RawEntry | undefined
  /** Who gets connections to this public port. */
  tcp(port: number): RawEntry | undefined
  /** The route of an edge with this id, whatever hosts it serves. */
  route(id: string): Route | undefined
}

/** Serves nothing. */
export const EMPTY_TABLE: Table = {
  http: () => undefined,
  tls: () => undefined,
  tcp: () => undefined,
  route: () => undefined,
}

export function newCounters(): EntryCounters {
  return { requests: 0, connections: 0, refusals: 0, errors: 0 }
}

import type { AccountTraffic } from '../stats/traffic.ts'
import type { HttpBackend, TcpBackend } from './backend.ts'
import type { ConnectionStep, RequestStep } from './module.ts'
import type { TlsPolicy } from './tls-policy.ts'

/** Counters of one route or TCP host since the start of the process. */
export interface Counters {
  requests: number
  connections: number
  rejections: number
  errors: number
}

/** A compiled route: what admits, changes and answers the requests of one path. */
export interface HttpRoute {
  readonly id: string
  /** Steps that admit or reject the connection; undefined when none is configured. */
  readonly connectionSteps: readonly ConnectionStep[] | undefined
  /** Request steps in order; undefined when none is configured. */
  readonly steps: readonly RequestStep[] | undefined
  /** The steps inside a policy that sign visitors in; callbacks of identity providers are redeemed with them. */
  readonly signIns?: readonly RequestStep[] | undefined
  readonly backend: HttpBackend
  readonly counters: Counters
}

/** A host name that serves HTTP: an agent's endpoint or an HTTPS edge. */
export interface HttpHost {
  readonly kind: 'http'
  /** Id of the tunnel or edge. */
  readonly id: string
  readonly accountId: string
  /** Totals of the account. */
  readonly traffic: AccountTraffic
  /** How TLS is terminated for this host; compared on every request (P33). Undefined for plain HTTP. */
  readonly tlsPolicy: TlsPolicy | undefined
  /** True when plain HTTP is redirected to https. */
  readonly redirectToHttps: boolean
  routeFor(target: string): HttpRoute
}

/** A server name or port whose bytes are proxied unchanged. */
export interface TcpHost {
  readonly kind: 'tcp'
  readonly id: string
  readonly accountId: string
  /** Totals of the account. */
  readonly traffic: AccountTraffic
  readonly proto: 'tcp' | 'tls'
  /** What it comes from, as announced to the tunnel. */
  readonly via: 'endpoint' | 'tcp-edge' | 'tls-edge'
  /** Undefined when the client's TLS, or its plain bytes, pass through. */
  readonly tlsPolicy: TlsPolicy | undefined
  /** Steps that admit or reject the connection, before the handshake. */
  readonly connectionSteps: readonly ConnectionStep[] | undefined
  /** Steps that do so after the handshake, where TLS is terminated. */
  readonly securedConnectionSteps?: readonly ConnectionStep[] | undefined
  /** Whether the host has an IP restriction of its own. */
  readonly restricted: boolean
  readonly backend: TcpBackend
  readonly counters: Counters
}

/** The compiled configuration, looked up by host, server name or port. */
export interface RoutingTable {
  /** The host that serves HTTP under this name. */
  http(scheme: 'http' | 'https', host: string): HttpHost | undefined
  /** The host for a TLS connection with this server name. */
  tls(serverName: string): HttpHost | TcpHost | undefined
  /** The host for connections to this public port. */
  tcp(port: number): TcpHost | undefined
  /** The route with this id, on whichever edge. */
  route(id: string): HttpRoute | undefined
}

/** A routing table without hosts. */
export const EMPTY_TABLE: RoutingTable = {
  http: () => undefined,
  tls: () => undefined,
  tcp: () => undefined,
  route: () => undefined,
}

export function createCounters(): Counters {
  return { requests: 0, connections: 0, rejections: 0, errors: 0 }
}

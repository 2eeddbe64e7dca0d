import type { CompiledEdge } from '../compile/edge.ts'
import type { EdgeTable } from '../compile/edge-table.ts'
import type { EndpointConfigurations } from '../compile/endpoint-configurations.ts'
import type { CompiledEndpoints } from '../compile/endpoints.ts'
import type { HttpHost, HttpRoute, RoutingTable, TcpHost } from '../contracts/table.ts'
import type { TunnelLookup, TunnelPool } from '../contracts/tunnels.ts'

/** What hosts and ports are resolved among. */
export interface ResolverSources {
  /** The platform's own hosts, which serve https. */
  readonly platformHosts: ReadonlyMap<string, HttpHost>
  readonly edges: Pick<EdgeTable, 'named' | 'covering' | 'atPort' | 'routeWith'>
  readonly configurations: Pick<EndpointConfigurations, 'http' | 'tcp' | 'route'>
  readonly tunnels: Pick<TunnelLookup, 'atHost' | 'atPort'>
  readonly endpoints: CompiledEndpoints
}

/**
 * Who serves a host or a port. The first that is there does; an edge that is found serves or denies, and nothing below it is
 * asked:
 *
 * 1. the platform's own hosts,
 * 2. the edge of exactly this name or port,
 * 3. what agents serve, where its name is more specific than the wildcard of an edge,
 * 4. the edge of the longest wildcard,
 * 5. what agents serve otherwise.
 *
 * What agents serve is the backend of an endpoint configuration, else the tunnel of exactly this name, else that of the longest
 * wildcard. Plain http is redirected where only https is served.
 */
export class RouteResolver implements RoutingTable {
  readonly #sources: ResolverSources
  readonly #redirects = new WeakMap<HttpHost, HttpHost>()

  constructor(sources: ResolverSources) {
    this.#sources = sources
  }

  http(scheme: 'http' | 'https', host: string): HttpHost | undefined {
    const platform = this.#sources.platformHosts.get(host)
    if (platform !== undefined) return scheme === 'https' ? platform : this.#redirect(platform)
    const edge = this.#edgeAt(scheme, host)
    if (edge === undefined) return this.#endpoint(scheme, host)
    // A TLS edge does not serve HTTP under its names.
    if (edge.host.kind !== 'http') return undefined
    return scheme === 'https' ? edge.host : this.#redirect(edge.host)
  }

  tls(serverName: string): HttpHost | TcpHost | undefined {
    const { platformHosts, configurations, tunnels, endpoints } = this.#sources
    const known =
      platformHosts.get(serverName) ??
      this.#edgeAt('tls', serverName)?.host ??
      configurations.http('https', serverName)
    if (known !== undefined) return known
    // Each request of the connection takes a turn of the pool, not the connection.
    const secure = tunnels.atHost('https', serverName)
    if (secure !== undefined) return endpoints.http(secure.current)
    const pool = tunnels.atHost('tls', serverName)
    return pool && endpoints.tcp(pool.next())
  }

  tcp(port: number): TcpHost | undefined {
    const { edges, configurations, tunnels, endpoints } = this.#sources
    const known = (edges.atPort(port)?.host as TcpHost | undefined) ?? configurations.tcp(port)
    if (known !== undefined) return known
    const pool = tunnels.atPort(port)
    return pool && endpoints.tcp(pool.next())
  }

  /** Agents' endpoints have no routes; their configurations have one each. */
  route(id: string): HttpRoute | undefined {
    const { edges, configurations } = this.#sources
    return edges.routeWith(id) ?? configurations.route(id)
  }

  /** The edge that serves a name, unless agents serve it under a more specific name. */
  #edgeAt(listener: 'http' | 'https' | 'tls', host: string): CompiledEdge | undefined {
    const { edges, tunnels } = this.#sources
    const exact = edges.named(host)
    if (exact !== undefined) return exact
    const wildcard = edges.covering(host)
    if (wildcard === undefined) return undefined
    const pool =
      tunnels.atHost(listener === 'tls' ? 'https' : listener, host) ??
      (listener === 'https' ? undefined : tunnels.atHost(listener === 'tls' ? 'tls' : 'https', host))
    return isMoreSpecific(pool, wildcard.domain) ? undefined : wildcard.value
  }

  #endpoint(scheme: 'http' | 'https', host: string): HttpHost | undefined {
    const { configurations, tunnels, endpoints } = this.#sources
    const configured = configurations.http(scheme, host)
    if (configured !== undefined) return configured
    const pool = tunnels.atHost(scheme, host)
    if (pool !== undefined) return endpoints.http(pool.next())
    if (scheme === 'https') return undefined
    const secureConfigured = configurations.http('https', host)
    if (secureConfigured !== undefined) return this.#redirect(secureConfigured)
    const secure = tunnels.atHost('https', host)
    return secure && this.#redirect(endpoints.http(secure.current))
  }

  /** What plain HTTP requests get where only https is served. */
  #redirect(host: HttpHost): HttpHost {
    let redirect = this.#redirects.get(host)
    if (redirect === undefined) {
      redirect = { ...host, tlsPolicy: undefined, redirectToHttps: true }
      this.#redirects.set(host, redirect)
    }
    return redirect
  }
}

/** Whether agents serve the exact name or a more specific wildcard. At equal specificity an edge wins. */
function isMoreSpecific(pool: TunnelPool | undefined, domain: string): boolean {
  if (pool?.current.address.proto === undefined) return false
  const { host } = pool.current.address
  return !host.startsWith('*.') || host.length - 2 > domain.length
}

import type { RoutingTable } from '../contracts/table.ts'
import type { TunnelLookup } from '../contracts/tunnels.ts'
import type { EndpointConfigurations } from '../compile/endpoint-configurations.ts'
import type { CompiledEndpoints } from '../compile/endpoints.ts'

/**
 * The routing table of agents' endpoints, looked up among the tunnels online. Where an endpoint configuration has a
 * backend, that is served instead.
 */
export function createEndpointTable(
  tunnels: TunnelLookup,
  endpoints: CompiledEndpoints,
  configurations: Pick<EndpointConfigurations, 'http' | 'tcp' | 'route'>,
): RoutingTable {
  return {
    http(scheme, host) {
      const configured = configurations.http(scheme, host)
      if (configured !== undefined) return configured
      const tunnel = tunnels.take(scheme, host)
      if (tunnel !== undefined) return endpoints.http(tunnel)
      const secureEntry = scheme === 'http' ? configurations.http('https', host) : undefined
      if (secureEntry !== undefined) return { ...secureEntry, policy: undefined, redirectToHttps: true }
      const secure = scheme === 'http' ? tunnels.find('https', host) : undefined
      return secure === undefined ? undefined : endpoints.redirect(secure)
    },
    tls(serverName) {
      const configured = configurations.http('https', serverName)
      if (configured !== undefined) return configured
      const https = tunnels.find('https', serverName)
      if (https !== undefined) return endpoints.http(https)
      const tls = tunnels.take('tls', serverName)
      return tls === undefined ? undefined : endpoints.raw(tls)
    },
    tcp(port) {
      const configured = configurations.tcp(port)
      if (configured !== undefined) return configured
      const tunnel = tunnels.takeTcp(port)
      return tunnel === undefined ? undefined : endpoints.raw(tunnel)
    },
    // Endpoints have no routes; their configurations have one each.
    route: (id) => configurations.route(id),
  }
}

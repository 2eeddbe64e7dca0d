import type { RoutingTable } from '../table.ts'
import type { TunnelLookup } from '../tunnels.ts'
import type { CompiledEndpoints } from './endpoints.ts'

/** The routing table of agents' endpoints, looked up among the tunnels online. */
export function createEndpointTable(tunnels: TunnelLookup, endpoints: CompiledEndpoints): RoutingTable {
  return {
    http(scheme, host) {
      const tunnel = tunnels.take(scheme, host)
      if (tunnel !== undefined) return endpoints.http(tunnel)
      const secure = scheme === 'http' ? tunnels.find('https', host) : undefined
      return secure === undefined ? undefined : endpoints.redirect(secure)
    },
    tls(serverName) {
      const https = tunnels.find('https', serverName)
      if (https !== undefined) return endpoints.http(https)
      const tls = tunnels.take('tls', serverName)
      return tls === undefined ? undefined : endpoints.raw(tls)
    },
    tcp(port) {
      const tunnel = tunnels.takeTcp(port)
      return tunnel === undefined ? undefined : endpoints.raw(tunnel)
    },
    // Endpoints have no routes.
    route: () => undefined,
  }
}

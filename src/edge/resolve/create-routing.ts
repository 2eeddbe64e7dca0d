/**
 * `resolve` answers who serves a host, a port, an internal address or the service of a cluster; begin with `route-resolver.ts`.
 * `createRouting` wires it with what `compile` makes of the stored configuration.
 */

import type { Dial } from '../../base/outbound/guarded-dial.ts'
import { CompiledBackends } from '../compile/backends.ts'
import type { InternalEndpoints } from '../compile/context.ts'
import { EdgeTable } from '../compile/edge-table.ts'
import { EndpointConfigurations } from '../compile/endpoint-configurations.ts'
import { compileEndpoint } from '../compile/endpoint-options.ts'
import { CompiledEndpoints } from '../compile/endpoints.ts'
import { CompiledIpPolicies } from '../compile/ip-policies.ts'
import { PolicyStates } from '../compile/policy-states.ts'
import { ScopedState } from '../compile/scoped-state.ts'
import { DesiredPorts } from '../contracts/desired-ports.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import { Snapshot } from '../contracts/snapshot.ts'
import type { HttpHost, RoutingTable } from '../contracts/table.ts'
import type { TlsPolicies } from '../contracts/tls-policy.ts'
import type { PublicPorts, TunnelLookup } from '../contracts/tunnels.ts'
import { createErrorPageLookup, type FindErrorPage } from '../response/custom-error-page.ts'
import type { EdgeServices } from '../services/services.ts'
import { CountExchange, type PublishCounts } from '../stats/shared-counts.ts'
import { IdleBudgets } from '../upstream/tunnel-target.ts'
import { ClusterServices, type CompileSelectors } from './cluster-services.ts'
import { RouteResolver } from './route-resolver.ts'

/** What routing needs from the edge. */
export interface RoutingDependencies {
  readonly runtime: EdgeRuntime
  readonly tunnels: TunnelLookup
  readonly tlsPolicies: TlsPolicies
  readonly ports: PublicPorts
  readonly services: EdgeServices
  readonly dial: Dial
  readonly publishCounts: PublishCounts | undefined
  readonly compileSelectors: CompileSelectors
  readonly platformHosts: ReadonlyMap<string, HttpHost>
}

/** Creates the routing of all edges and endpoints. There are none until the store sends the configuration. */
export function createRouting(dependencies: RoutingDependencies): {
  routes: RoutingTable
  edges: EdgeTable
  findErrorPage: FindErrorPage
  counts: CountExchange
  clusterServices: ClusterServices
  stop(): void
} {
  const {
    runtime,
    services,
    tunnels,
    tlsPolicies,
    ports,
    dial,
    publishCounts,
    compileSelectors,
    platformHosts,
  } = dependencies
  const snapshot = new Snapshot()
  const ipPolicies = new CompiledIpPolicies(snapshot, runtime.log)
  const budgets = new IdleBudgets()
  const exchange = new CountExchange(publishCounts, runtime.clock)
  const policyStates = new PolicyStates(exchange)
  const scopedState = new ScopedState(exchange)
  const internalEndpoints: InternalEndpoints = {
    http(accountId, address) {
      const pool = tunnels.atInternal(accountId, address)
      return pool && endpoints.http(pool.next()).routeFor('/')
    },
    tcp(accountId, address) {
      const pool = tunnels.atInternal(accountId, address)
      return pool && endpoints.tcp(pool.next())
    },
  }
  const compilerDependencies = {
    runtime,
    services,
    snapshot,
    ipPolicies,
    policyStates,
    internalEndpoints,
    backends: new CompiledBackends(snapshot, { runtime, tunnels, budgets, dial }),
    scopedState,
    countExchange: exchange,
    tlsPolicies,
  }
  const configurations = new EndpointConfigurations(compilerDependencies)
  const endpoints: CompiledEndpoints = new CompiledEndpoints({
    runtime,
    budgets,
    tlsPolicies,
    tunnels,
    configurations,
    compileModules: (tunnel, configuration) => compileEndpoint(tunnel, configuration, compilerDependencies),
  })
  const edgePorts = new DesiredPorts(ports, runtime.log)
  const edges = new EdgeTable(snapshot, {
    ...compilerDependencies,
    configurations,
    onPortsChanged: (ports) => edgePorts.setDesired(ports),
  })
  return {
    routes: new RouteResolver({ platformHosts, edges, configurations, tunnels, endpoints }),
    edges,
    findErrorPage: createErrorPageLookup(snapshot),
    clusterServices: new ClusterServices({ snapshot, tunnels, endpoints, compileSelectors }),
    counts: exchange,
    stop() {
      edges.stop()
      edgePorts.stop()
    },
  }
}

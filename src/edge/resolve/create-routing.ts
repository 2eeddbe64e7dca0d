/**
 * `compile` turns stored configuration and agents' options into the routing table. `snapshot.ts` holds the records,
 * `edge-table.ts` finds out which edges a change affects and recompiles them, `edge.ts` and `route.ts` compile one edge,
 * `endpoints.ts`, `endpoint-options.ts` and `endpoint-configurations.ts` compile agents' endpoints. The folder may use the
 * edge's contracts, `modules` and `backends`. `createEdgeTable` below wires it; begin with `edge-table.ts`.
 */

import type { Dial } from '../../base/outbound/guarded-dial.ts'
import type { Core } from '../contracts/core.ts'
import { DesiredPorts } from '../contracts/desired-ports.ts'
import { Snapshot } from '../contracts/snapshot.ts'
import type { TlsPolicies } from '../contracts/tls-policy.ts'
import type { PublicPorts, TunnelLookup } from '../contracts/tunnels.ts'
import { createErrorPageLookup, type FindErrorPage } from '../response/custom-error-page.ts'
import type { EdgeServices } from '../services/services.ts'
import { CountExchange, type ExchangedCounts } from '../stats/shared-counts.ts'
import { IdleBudgets } from '../upstream/tunnel-target.ts'
import { CompiledBackends } from '../compile/backends.ts'
import { ClusterServices, type CompileSelectors } from './cluster-services.ts'
import type { InternalEndpoints } from '../compile/context.ts'
import { EdgeTable } from '../compile/edge-table.ts'
import { EndpointConfigurations } from '../compile/endpoint-configurations.ts'
import { compileEndpoint } from '../compile/endpoint-options.ts'
import { createEndpointTable } from './route-resolver.ts'
import { CompiledEndpoints } from '../compile/endpoints.ts'
import { CompiledIpPolicies } from '../compile/ip-policies.ts'
import { PolicyStates } from '../compile/policy-states.ts'
import { ScopedState } from '../compile/scoped-state.ts'

/** What the table needs from the edge. */
export interface TableDependencies {
  readonly core: Core
  readonly tunnels: TunnelLookup
  readonly policies: TlsPolicies
  readonly ports: PublicPorts
  readonly services: EdgeServices
  readonly dial: Dial
  /** Whether other processes are told what is counted here. */
  readonly sharesCounts: boolean
  readonly compileSelectors: CompileSelectors
}

/** Creates the routing table of all edges and endpoints. It stays empty until the store sends the configuration. */
export function createEdgeTable(parts: TableDependencies): {
  table: EdgeTable
  findErrorPage: FindErrorPage
  counts: ExchangedCounts
  clusterServices: ClusterServices
  stop(): void
} {
  const {
    core,
    services,
    tunnels,
    policies: tlsPolicies,
    ports,
    dial,
    sharesCounts,
    compileSelectors,
  } = parts
  const snapshot = new Snapshot()
  const ipPolicies = new CompiledIpPolicies(snapshot, core.log)
  const budgets = new IdleBudgets()
  const exchange = new CountExchange({ isEnabled: sharesCounts, clock: core.clock })
  const policyStates = new PolicyStates(exchange)
  const scopedState = new ScopedState(exchange)
  const internalEndpoints: InternalEndpoints = {
    http(accountId, address) {
      const tunnel = tunnels.takeInternal(accountId, address)
      return tunnel && endpoints.http(tunnel).routeFor('/')
    },
    raw(accountId, address) {
      const tunnel = tunnels.takeInternal(accountId, address)
      return tunnel && endpoints.raw(tunnel)
    },
  }
  const compilerParts = {
    core,
    services,
    snapshot,
    ipPolicies,
    policyStates,
    internalEndpoints,
    backends: new CompiledBackends(snapshot, { core, tunnels, budgets, dial }),
    scopedState,
    countExchange: exchange,
    tlsPolicies,
  }
  const configurations = new EndpointConfigurations(compilerParts)
  const endpoints: CompiledEndpoints = new CompiledEndpoints({
    core,
    budgets,
    policies: tlsPolicies,
    tunnels,
    configurations,
    compileModules: (tunnel, configuration) => compileEndpoint(tunnel, configuration, compilerParts),
  })
  const edgePorts = new DesiredPorts(ports, core.log)
  const table = new EdgeTable(snapshot, {
    ...compilerParts,
    tunnels,
    endpoints: createEndpointTable(tunnels, endpoints, configurations),
    configurations,
    onPortsChanged: (ports) => edgePorts.setDesired(ports),
  })
  return {
    table,
    findErrorPage: createErrorPageLookup(snapshot),
    clusterServices: new ClusterServices({ snapshot, tunnels, endpoints, compileSelectors }),
    counts: exchange,
    stop() {
      table.stop()
      edgePorts.stop()
    },
  }
}

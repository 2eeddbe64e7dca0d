import type { Dial } from '../../base/outbound/guarded-dial.ts'
import type { Core } from '../core.ts'
import type { TlsPolicies } from '../listeners/tls-policy.ts'
import type { Logins } from '../modules/login.ts'
import type { SigningKeys } from '../modules/sns-keys.ts'
import type { PublicPorts, TunnelLookup } from '../tunnels.ts'
import { IdleBudgets } from '../upstream/tunnel-target.ts'
import { CompiledBackends } from './backends.ts'
import { EdgePorts } from './edge-ports.ts'
import { EdgeTable } from './edge-table.ts'
import { compileEndpoint } from './endpoint-options.ts'
import { createEndpointTable } from './endpoint-table.ts'
import { CompiledEndpoints } from './endpoints.ts'
import { CompiledIpPolicies } from './ip-policies.ts'
import { ScopedState } from './scoped-state.ts'
import { Snapshot } from './snapshot.ts'

/** What the table needs from the edge around it. */
export interface TableDependencies {
  readonly core: Core
  readonly tunnels: TunnelLookup
  readonly policies: TlsPolicies
  readonly ports: PublicPorts
  readonly logins: Logins | undefined
  readonly signingKeys: SigningKeys | undefined
  readonly dial: Dial
}

/** Makes the table of all edges and endpoints, empty until it is told of the configuration. */
export function createEdgeTable(parts: TableDependencies): {
  table: EdgeTable
  stop(): void
} {
  const { core, tunnels, policies: tlsPolicies, ports, logins, signingKeys, dial } = parts
  const snapshot = new Snapshot()
  const ipPolicies = new CompiledIpPolicies(snapshot, core.log)
  const budgets = new IdleBudgets()
  const endpoints = new CompiledEndpoints(core, budgets, tlsPolicies, (tunnel) =>
    compileEndpoint(tunnel, { core, ipPolicies, logins, signingKeys }),
  )
  const edgePorts = new EdgePorts(ports, core.log)
  const table = new EdgeTable(snapshot, {
    core,
    tunnels,
    ipPolicies,
    backends: new CompiledBackends(snapshot, { core, tunnels, budgets, dial }),
    scopedState: new ScopedState(),
    tlsPolicies,
    logins,
    signingKeys,
    endpoints: createEndpointTable(tunnels, endpoints),
    onPortsChanged: (ports) => edgePorts.setDesired(ports),
  })
  return {
    table,
    stop() {
      table.stop()
      edgePorts.stop()
    },
  }
}

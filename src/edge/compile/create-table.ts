import type { Dial } from '../../base/outbound/guarded-dial.ts'
import type { Core } from '../core.ts'
import type { TlsPolicies } from '../listeners/tls-policy.ts'
import type { Logins } from '../modules/login.ts'
import type { SigningKeys } from '../modules/sns-keys.ts'
import type { PublicPorts, TunnelLookup } from '../tunnels.ts'
import { IdleBudgets } from '../upstream/tunnel-target.ts'
import { Choices } from './backends.ts'
import { EdgePorts } from './edge-ports.ts'
import { EdgeTable } from './edge-table.ts'
import { compileEndpoint } from './endpoint-options.ts'
import { endpointTable } from './endpoint-table.ts'
import { Endpoints } from './endpoints.ts'
import { RuleSets } from './ip-policies.ts'
import { PlaceStates } from './scoped-state.ts'
import { Snapshot } from './snapshot.ts'

/** What the table needs from the edge around it. */
export interface WiringParts {
  readonly core: Core
  readonly tunnels: TunnelLookup
  readonly policies: TlsPolicies
  readonly ports: PublicPorts
  readonly logins: Logins | undefined
  readonly signingKeys: SigningKeys | undefined
  readonly dial: Dial
}

/** Makes the table of all edges and endpoints, empty until it is told of the configuration. */
export function createEdgeTable(parts: WiringParts): {
  table: EdgeTable
  stop(): void
} {
  const { core, tunnels, policies, ports, logins, signingKeys, dial } = parts
  const snapshot = new Snapshot()
  const rules = new RuleSets(snapshot, core.log)
  const budgets = new IdleBudgets()
  const endpoints = new Endpoints(core, budgets, policies, (tunnel) =>
    compileEndpoint(tunnel, { core, rules, logins, signingKeys }),
  )
  const edgePorts = new EdgePorts(ports, core.log)
  const table = new EdgeTable(snapshot, {
    core,
    tunnels,
    rules,
    choices: new Choices(snapshot, { core, tunnels, budgets, dial }),
    states: new PlaceStates(),
    policies,
    logins,
    signingKeys,
    agents: endpointTable(tunnels, endpoints),
    onPorts: (wanted) => edgePorts.want(wanted),
  })
  return {
    table,
    stop() {
      table.stop()
      edgePorts.stop()
    },
  }
}

import type { Dial } from '../base/outbound/guarded-dial.ts'
import { Choices } from './compile-backends.ts'
import { compileEndpoint } from './compile-endpoint.ts'
import { RuleSets } from './compile-rules.ts'
import { PlaceStates } from './compile-states.ts'
import type { Core } from './core.ts'
import { EdgeTable } from './edge-table.ts'
import { EdgePorts } from './edge-table-ports.ts'
import { Endpoints } from './endpoint.ts'
import { endpointTable } from './endpoint-table.ts'
import type { Logins } from './modules/login.ts'
import type { SigningKeys } from './modules/sns-keys.ts'
import { Snapshot } from './snapshot.ts'
import type { TlsPolicies } from './tls-policy.ts'
import { IdleBudgets } from './tunnel-target.ts'
import type { PublicPorts, TunnelLookup } from './tunnels.ts'

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

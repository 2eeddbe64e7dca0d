import type { CommandName, CommandResult, OnlineInventory } from '../../src/api/index.ts'
import { newId } from '../../src/base/values/id.ts'

/** Fake sessions, tunnels and endpoints, without agents. */
export interface TestOnline extends OnlineInventory {
  /** Adds one session, tunnel and endpoint to an account. */
  putOnline(accountId: string, url: string): { session: string; tunnel: string; endpoint: string }
  /** The commands sent to agents; `outcome` is the result of the next one. */
  readonly commands: [command: CommandName, sessionId: string][]
  outcome: CommandResult
}

type Body = Record<string, unknown>

export function createOnline(): TestOnline {
  const accounts = new Map<string, { sessions: Body[]; tunnels: Body[]; endpoints: Body[] }>()
  const stateOf = (accountId: string) => {
    const state = accounts.get(accountId) ?? { sessions: [], tunnels: [], endpoints: [] }
    accounts.set(accountId, state)
    return state
  }
  const commands: TestOnline['commands'] = []
  const online: TestOnline = {
    commands,
    outcome: { done: true },
    sessions: (accountId) => stateOf(accountId).sessions,
    tunnels: (accountId) => stateOf(accountId).tunnels,
    endpoints: (accountId) => stateOf(accountId).endpoints,
    tunnelsWith: (accountId, labels) =>
      stateOf(accountId)
        .tunnels.filter((tunnel) => {
          const tunnelLabels = tunnel.labels as Record<string, string> | null
          return (
            tunnelLabels !== null &&
            Object.entries(labels).every(([key, value]) => tunnelLabels[key] === value)
          )
        })
        .map((tunnel) => String(tunnel.id)),
    async command(accountId, sessionId, command) {
      if (!stateOf(accountId).sessions.some(({ id }) => id === sessionId)) return undefined
      commands.push([command, sessionId])
      return online.outcome
    },
    putOnline(accountId, url) {
      const [session, tunnel, endpoint, credential] = ['ts', 'tn', 'ep', 'cr'].map((prefix) => newId(prefix))
      const started_at = '2026-01-01T00:00:00Z'
      const ref = (path: string, id: string) => ({ id, uri: `${url}/${path}/${id}` })
      stateOf(accountId).sessions.push({
        id: session,
        uri: `${url}/tunnel_sessions/${session}`,
        agent_version: '1.2.3',
        credential: ref('credentials', credential!),
        ip: '192.0.2.1',
        metadata: 'from the agent',
        os: 'linux',
        region: 'us',
        started_at,
        transport: 'adit/v2',
      })
      stateOf(accountId).tunnels.push({
        id: tunnel,
        started_at,
        region: 'us',
        forwards_to: 'http://localhost:80',
        metadata: '',
        tunnel_session: ref('tunnel_sessions', session!),
        proto: null,
        public_url: null,
        endpoint: null,
        labels: { team: 'blue', app: 'web' },
        backends: [],
      })
      stateOf(accountId).endpoints.push({
        id: endpoint,
        uri: `${url}/endpoints/${endpoint}`,
        created_at: started_at,
        updated_at: started_at,
        region: 'us',
        type: 'ephemeral',
        proto: 'https',
        scheme: 'https',
        host: 'a.adit.localhost',
        port: 443,
        hostport: 'a.adit.localhost:443',
        public_url: 'https://a.adit.localhost',
        url: 'https://a.adit.localhost',
        bindings: ['public'],
        pooling_enabled: false,
        pooling_weight: 1,
        name: '',
        description: '',
        metadata: '',
        domain: null,
        tcp_addr: null,
        tunnel: ref('tunnels', tunnel!),
        tunnel_session: ref('tunnel_sessions', session!),
        principal: null,
        edge: null,
        upstream_url: 'http://localhost:80',
        upstream_protocol: 'http1',
      })
      return { session: session!, tunnel: tunnel!, endpoint: endpoint! }
    },
  }
  return online
}

import { useState } from 'react'
import type { Tunnel } from '../../../../api-client/index.ts'
import {
  Badge,
  BreakableText,
  type Column,
  EmptyState,
  LoadStatus,
  Notice,
  Page,
  Pager,
  Search,
  Table,
  Time,
} from '../../kit/index.ts'
import { filtered, listAll } from '../../lists.ts'
import { IdLink } from '../../resource/value-view.tsx'
import { hrefTo } from '../../route.ts'
import { useCanChange } from '../../session.ts'
import { CommandLine } from '../command-line.tsx'
import { useLive, versionOf } from '../live.ts'
import { useLoad } from '../use-load.ts'
import { type Agent, agentName, Commands, listAgentIdentities } from './commands.tsx'
import { OwnerName } from './owner-name.tsx'
import './agents.css'
import '../pages.css'

const PAGE_SIZE = 50

/** The list of connected agents: a page of those that match the search. */
export default function AgentsPage() {
  const mayChange = useCanChange()
  const latest = useLive().samples.at(-1)
  const [notice, setNotice] = useState<string>()
  const [{ search, page }, setView] = useState({ search: '', page: 1 })
  const load = useLoad((signal) => listAgentPage(search, page, signal), {
    everyMs: 10_000,
    key: `${versionOf(latest)} ${page} ${search}`,
  })
  const { sessions = [], tunnels = [], matching = 0, total } = load.value ?? {}
  const tunnelsOf = (id: string) => tunnels.filter(({ tunnel_session }) => tunnel_session.id === id)
  const commands: Column<Agent> = {
    title: 'Commands',
    kind: 'fit',
    render: (session) => (
      <span className="commands">
        <Commands
          session={session}
          onDone={(message) => {
            setNotice(message)
            load.reload()
          }}
        />
      </span>
    ),
  }
  const columns: readonly Column<Agent>[] = [
    {
      title: 'Agent',
      render: (session) => (
        <>
          <a href={hrefTo(`/agents/${session.id}`)}>{agentName(session)}</a>
          <p className="quiet machine">{describeMachine(session)}</p>
        </>
      ),
    },
    {
      title: 'User',
      render: ({ identity, credential }) => (
        <>
          {identity && <OwnerName owner={identity.owner} />}
          <p className="quiet">
            <IdLink id={credential.id} name={identity?.credential.name || undefined} />
          </p>
        </>
      ),
    },
    {
      title: 'Tunnels',
      render: ({ id }) => {
        const sessionTunnels = tunnelsOf(id)
        return sessionTunnels.length === 0 ? (
          'none'
        ) : (
          <ul className="tunnel-names">
            {sessionTunnels.slice(0, 3).map((tunnel) => (
              <li key={tunnel.id}>
                <BreakableText text={tunnelName(tunnel)} />
              </li>
            ))}
            {sessionTunnels.length > 3 && <li>and {sessionTunnels.length - 3} more</li>}
          </ul>
        )
      },
    },
    { title: 'Version', render: ({ agent_version, transport }) => versionCell(agent_version, transport) },
    { title: 'Online', kind: 'fit', render: ({ started_at }) => <Time value={started_at} /> },
    ...(mayChange ? [commands] : []),
  ]
  return (
    <Page
      title="Agents"
      lead="Connected clients that forward traffic to local services: agents, programs with an SDK, and SSH clients."
      actions={total !== undefined && <Badge tone={total > 0 ? 'good' : 'plain'}>{total} online</Badge>}
    >
      {notice && <Notice kind="good">{notice}</Notice>}
      <LoadStatus load={load} />
      {total === 0 && (
        <EmptyState title="No agent is online">
          <p>Start one next to a service, for example one that listens on port 3000:</p>
          <CommandLine text="adit http 3000" />
        </EmptyState>
      )}
      {total !== undefined && total > 0 && (
        <>
          <div className="tools">
            <Search
              label="Search agents"
              value={search}
              onValue={(words) => setView({ search: words, page: 1 })}
            />
          </div>
          <Table label="Agents" columns={columns} rows={sessions} keyOf={({ id }) => id} />
          {matching === 0 && <p className="quiet">No matches.</p>}
          <Pager
            page={page}
            pageSize={PAGE_SIZE}
            matching={matching}
            onPage={(next) => setView({ search, page: next })}
          />
        </>
      )}
    </Page>
  )
}

/** The agents of a page, with their sessions and tunnels. */
async function listAgentPage(search: string, page: number, signal: AbortSignal) {
  const { agents, ...counts } = await listAgentIdentities(
    { q: search.trim(), offset: String((page - 1) * PAGE_SIZE), limit: String(PAGE_SIZE) },
    signal,
  )
  if (agents.length === 0) return { sessions: [], tunnels: [], ...counts }
  const ids = JSON.stringify(agents.map(({ id }) => id))
  const [sessions, tunnels] = await Promise.all([
    listAll(filtered('/tunnel_sessions', `obj.id in ${ids}`), 'tunnel_sessions', signal),
    listAll(filtered('/tunnels', `obj.tunnel_session.id in ${ids}`), 'tunnels', signal),
  ])
  const identities = new Map(agents.map((agent) => [agent.id, agent]))
  return {
    sessions: sessions.map((session): Agent => ({ ...session, identity: identities.get(session.id) })),
    tunnels,
    ...counts,
  }
}

function tunnelName({ public_url, labels, forwards_to }: Tunnel): string {
  if (public_url) return public_url
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`)
  return pairs.join(', ') || forwards_to
}

/** The host name, address and system, without what is the agent's name already. */
function describeMachine(session: Agent): string {
  const { identity, ip, os } = session
  const parts = [identity?.hostname, ip, os].filter((part) => part && part !== agentName(session))
  return agentName(session).startsWith(`${ip} · `) ? '' : parts.join(' · ')
}

function versionCell(version: string, transport: string) {
  return transport === 'ssh' ? <Badge tone="info">SSH</Badge> : version
}

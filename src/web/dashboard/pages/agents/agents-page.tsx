import { useState } from 'react'
import { Badge, type Column, EmptyState, Notice, Time } from '../../kit/index.ts'
import { IdLink } from '../../resource/value-view.tsx'
import { hrefTo } from '../../route.ts'
import { CommandLine } from '../command-line.tsx'
import { listAll, useLoad } from '../list-all.ts'
import { ListPage } from '../list-page.tsx'
import { useLive, versionOf } from '../live.ts'
import type { Tunnel, TunnelSession } from '../resources.ts'
import { type Agent, agentName, Commands, listAgentIdentities } from './commands.tsx'
import { OwnerName } from './owner-name.tsx'
import './agents.css'

/** The list of connected agents. */
export default function AgentsPage() {
  const latest = useLive().samples.at(-1)
  const [notice, setNotice] = useState<string>()
  const load = useLoad(
    async (signal) => {
      const [sessions, tunnels, identities] = await Promise.all([
        listAll<TunnelSession>('/tunnel_sessions', 'tunnel_sessions', signal),
        listAll<Tunnel>('/tunnels', 'tunnels', signal),
        listAgentIdentities(signal),
      ])
      return {
        sessions: sessions.map((session): Agent => ({ ...session, identity: identities.get(session.id) })),
        tunnels,
      }
    },
    { everyMs: 10_000, key: versionOf(latest) },
  )
  const { sessions, tunnels = [] } = load.value ?? {}
  const tunnelsOf = (id: string) => tunnels.filter(({ tunnel_session }) => tunnel_session.id === id)
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
              <li key={tunnel.id}>{tunnelName(tunnel)}</li>
            ))}
            {sessionTunnels.length > 3 && <li>and {sessionTunnels.length - 3} more</li>}
          </ul>
        )
      },
    },
    { title: 'Version', render: ({ agent_version, transport }) => versionCell(agent_version, transport) },
    { title: 'Online', kind: 'fit', render: ({ started_at }) => <Time value={started_at} /> },
    {
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
    },
  ]
  return (
    <ListPage
      title="Agents"
      lead="Connected clients that forward traffic to local services: agents, programs with an SDK, and SSH clients."
      actions={
        sessions && <Badge tone={sessions.length > 0 ? 'good' : 'plain'}>{sessions.length} online</Badge>
      }
      notice={notice && <Notice kind="good">{notice}</Notice>}
      load={load}
      items={sessions}
      empty={
        <EmptyState title="No agent is online">
          <p>Start one next to a service, for example one that listens on port 3000:</p>
          <CommandLine text="adit http 3000" />
        </EmptyState>
      }
      textOf={(session) =>
        [
          ...Object.values(session).map(String),
          session.identity?.hostname,
          session.identity?.owner.name,
          session.identity?.credential.name,
          session.identity?.credential.id,
          ...tunnelsOf(session.id).map(tunnelName),
        ].join(' ')
      }
      columns={columns}
    />
  )
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

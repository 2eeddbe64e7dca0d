import { useState } from 'react'
import {
  Badge,
  type Column,
  EmptyState,
  LoadError,
  Loading,
  Notice,
  Page,
  Search,
  Table,
  Time,
} from '../../kit/index.ts'
import { hrefTo } from '../../route.ts'
import { CommandLine } from '../command-line.tsx'
import { listAll, useLoad } from '../list-all.ts'
import { useLive, versionOf } from '../live.ts'
import type { Tunnel, TunnelSession } from '../resources.ts'
import { agentName, Commands } from './commands.tsx'
import './agents.css'
import '../pages.css'

/** The list of connected agents. */
export default function AgentsPage() {
  const latest = useLive().samples.at(-1)
  const [search, setSearch] = useState('')
  const [notice, setNotice] = useState<string>()
  const loaded = useLoad(
    async (signal) => {
      const [sessions, tunnels] = await Promise.all([
        listAll<TunnelSession>('/tunnel_sessions', 'tunnel_sessions', signal),
        listAll<Tunnel>('/tunnels', 'tunnels', signal),
      ])
      return { sessions, tunnels }
    },
    { everyMs: 10_000, key: versionOf(latest) },
  )
  const { value, error, reload } = loaded
  const tunnelsOf = (id: string) =>
    value?.tunnels.filter(({ tunnel_session }) => tunnel_session.id === id) ?? []
  const rows = value?.sessions.filter((session) =>
    [...Object.values(session).map(String), ...tunnelsOf(session.id).map(tunnelName)]
      .join(' ')
      .toLowerCase()
      .includes(search.toLowerCase()),
  )
  const columns: readonly Column<TunnelSession>[] = [
    {
      title: 'Agent',
      render: (session) => <a href={hrefTo(`/agents/${session.id}`)}>{agentName(session)}</a>,
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
              reload()
            }}
          />
        </span>
      ),
    },
  ]
  return (
    <Page
      title="Agents"
      lead="Connected clients that forward traffic to local services: agents, programs with an SDK, and SSH clients."
      actions={
        value && (
          <Badge tone={value.sessions.length > 0 ? 'good' : 'plain'}>{value.sessions.length} online</Badge>
        )
      }
    >
      {notice && <Notice kind="good">{notice}</Notice>}
      {error && <LoadError error={error} retry={reload} />}
      {loaded.loading && <Loading />}
      {value?.sessions.length === 0 && (
        <EmptyState title="No agent is online">
          <p>Start one next to a service, for example one that listens on port 3000:</p>
          <CommandLine text="adit http 3000" />
        </EmptyState>
      )}
      {rows && value && value.sessions.length > 0 && (
        <>
          <div className="tools">
            <Search label="Search agents" value={search} onValue={setSearch} />
          </div>
          <Table label="Agents online" columns={columns} rows={rows} keyOf={({ id }) => id} />
          {rows.length === 0 && <p className="quiet">No matches for “{search}”.</p>}
        </>
      )}
    </Page>
  )
}

function tunnelName({ public_url, labels, forwards_to }: Tunnel): string {
  if (public_url) return public_url
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`)
  return pairs.join(', ') || forwards_to
}

function versionCell(version: string, transport: string) {
  return transport === 'ssh' ? <Badge tone="info">SSH</Badge> : version
}

import { useState } from 'react'
import {
  Badge,
  type Column,
  Empty,
  Failed,
  Loading,
  Notice,
  Page,
  Search,
  Table,
  Time,
} from '../../kit/index.ts'
import { hrefTo } from '../../route.ts'
import { CommandLine } from '../command-line.tsx'
import { listAll, useLoaded } from '../list-all.ts'
import { useLive, versionOf } from '../live.ts'
import type { Tunnel, TunnelSession } from '../resources.ts'
import { agentName, Commands } from './commands.tsx'
import './agents.css'
import '../pages.css'

/** Who is connected now. */
export default function AgentsPage() {
  const now = useLive().samples.at(-1)
  const [wanted, setWanted] = useState('')
  const [done, setDone] = useState<string>()
  const loaded = useLoaded(
    async (signal) => {
      const [sessions, tunnels] = await Promise.all([
        listAll<TunnelSession>('/tunnel_sessions', 'tunnel_sessions', signal),
        listAll<Tunnel>('/tunnels', 'tunnels', signal),
      ])
      return { sessions, tunnels }
    },
    { everyMs: 10_000, key: versionOf(now) },
  )
  const { value, error, reload } = loaded
  const tunnelsOf = (id: string) =>
    value?.tunnels.filter(({ tunnel_session }) => tunnel_session.id === id) ?? []
  const rows = value?.sessions.filter((session) =>
    [...Object.values(session).map(String), ...tunnelsOf(session.id).map(nameOf)]
      .join(' ')
      .toLowerCase()
      .includes(wanted.toLowerCase()),
  )
  const columns: readonly Column<TunnelSession>[] = [
    {
      title: 'Agent',
      of: (session) => <a href={hrefTo(`/agents/${session.id}`)}>{agentName(session)}</a>,
    },
    {
      title: 'Tunnels',
      of: ({ id }) => {
        const own = tunnelsOf(id)
        return own.length === 0 ? (
          'none'
        ) : (
          <ul className="tunnel-names">
            {own.slice(0, 3).map((tunnel) => (
              <li key={tunnel.id}>{nameOf(tunnel)}</li>
            ))}
            {own.length > 3 && <li>and {own.length - 3} more</li>}
          </ul>
        )
      },
    },
    { title: 'Version', of: ({ agent_version, transport }) => versionWords(agent_version, transport) },
    { title: 'Online', kind: 'fit', of: ({ started_at }) => <Time at={started_at} /> },
    {
      title: 'Commands',
      kind: 'fit',
      of: (session) => (
        <span className="commands">
          <Commands
            session={session}
            onDone={(said) => {
              setDone(said)
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
      lead="Programs that are connected now and carry traffic to services behind them: agents, programs with an SDK, and SSH clients."
      actions={
        value && (
          <Badge tone={value.sessions.length > 0 ? 'good' : 'plain'}>{value.sessions.length} online</Badge>
        )
      }
    >
      {done && <Notice kind="good">{done}</Notice>}
      {error && <Failed error={error} retry={reload} />}
      {loaded.loading && <Loading />}
      {value?.sessions.length === 0 && (
        <Empty title="No agent is online">
          <p>Start one beside a service, for example one that listens on port 3000:</p>
          <CommandLine text="adit http 3000" />
        </Empty>
      )}
      {rows && value && value.sessions.length > 0 && (
        <>
          <div className="tools">
            <Search label="Search agents" value={wanted} onValue={setWanted} />
          </div>
          <Table label="Agents online" columns={columns} rows={rows} keyOf={({ id }) => id} />
          {rows.length === 0 && <p className="quiet">None of them fits “{wanted}”.</p>}
        </>
      )}
    </Page>
  )
}

function nameOf({ public_url, labels, forwards_to }: Tunnel): string {
  if (public_url) return public_url
  const said = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`)
  return said.join(', ') || forwards_to
}

function versionWords(version: string, transport: string) {
  return transport === 'ssh' ? <Badge tone="info">SSH</Badge> : version
}

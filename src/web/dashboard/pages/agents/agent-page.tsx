import { useState } from 'react'
import type { Tunnel, TunnelSession } from '../../../../api-client/index.ts'
import { ApiError } from '../../api.ts'
import {
  Badge,
  ButtonLink,
  Card,
  EmptyState,
  Facts,
  LoadStatus,
  Notice,
  Page,
  Table,
  Time,
  useApi,
} from '../../kit/index.ts'
import { filtered, listAll } from '../../lists.ts'
import type { PageProps } from '../../page-contracts.ts'
import { IdLink, ValueView } from '../../resource/value-view.tsx'
import { useLive, versionOf } from '../live.ts'
import { useLoad } from '../use-load.ts'
import { type Agent, acceptsCommands, agentName, Commands, listAgentIdentities } from './commands.tsx'
import { OwnerName } from './owner-name.tsx'
import './agents.css'
import '../pages.css'

const BACK = { path: '/agents', title: 'Agents' }

/** One agent session: its details, tunnels and commands. */
export default function AgentPage({ params: { id = '' } }: PageProps) {
  const latest = useLive().samples.at(-1)
  const [notice, setNotice] = useState<string>()
  const session = useApi<TunnelSession>(`/tunnel_sessions/${encodeURIComponent(id)}`, { everyMs: 4000 })
  const tunnels = useLoad<Tunnel[]>(
    (signal) => listAll(filtered('/tunnels', `obj.tunnel_session.id == "${id}"`), 'tunnels', signal),
    {
      key: `${id} ${versionOf(latest)}`,
    },
  )
  const identities = useLoad((signal) => listAgentIdentities({ id }, signal), { key: id })
  const ended = session.error instanceof ApiError && session.error.status === 404
  if (ended)
    return (
      <Page title="Agent" back={BACK}>
        {notice && <Notice kind="good">{notice}</Notice>}
        <EmptyState
          title="This session has ended"
          action={<ButtonLink to="/agents">Online agents</ButtonLink>}
        >
          An agent that reconnects gets a new session with a new ID.
        </EmptyState>
      </Page>
    )
  if (session.value === undefined)
    return (
      <Page title="Agent" back={BACK}>
        <LoadStatus load={session} />
      </Page>
    )
  const value = { ...session.value, identity: identities.value?.agents[0] }
  return (
    <Page
      title={agentName(value)}
      back={BACK}
      actions={
        <Commands
          session={value}
          onDone={(message) => {
            setNotice(message)
            session.reload()
          }}
        />
      }
    >
      {notice && <Notice kind="good">{notice}</Notice>}
      {!acceptsCommands(value) && (
        <Notice>
          This is an SSH client. It does not accept commands; its session ends when the client disconnects.
        </Notice>
      )}
      <SessionCard session={value} />
      <TunnelsCard tunnels={tunnels.value} />
    </Page>
  )
}

function SessionCard({ session }: { session: Agent }) {
  const { identity } = session
  return (
    <Card title="Session">
      <Facts
        entries={[
          [
            'Status',
            <Badge key="state" tone="good">
              online
            </Badge>,
          ],
          ['Connected', <Time key="at" value={session.started_at} exact />],
          ['Host name', identity?.hostname],
          ['User', identity && <OwnerName key="user" owner={identity.owner} />],
          [
            'Credential',
            <IdLink
              key="credential"
              id={session.credential.id}
              name={identity?.credential.name || undefined}
            />,
          ],
          ['Address', <code key="ip">{session.ip}</code>],
          ['System', session.os],
          ['Version', session.agent_version],
          ['Transport', session.transport],
          ['Region', session.region],
          [
            'Metadata',
            session.metadata && <ValueView key="metadata" name="metadata" value={session.metadata} />,
          ],
          ['ID', <code key="id">{session.id}</code>],
        ]}
      />
    </Card>
  )
}

/** The tunnels of the agent; undefined while they are loading. */
function TunnelsCard({ tunnels }: { tunnels: readonly Tunnel[] | undefined }) {
  return (
    <Card title="Tunnels">
      {tunnels?.length === 0 && <p className="quiet">This agent has no tunnels.</p>}
      {tunnels && tunnels.length > 0 && (
        <Table
          label="Tunnels of this agent"
          rows={tunnels}
          keyOf={(tunnel) => tunnel.id}
          columns={[
            { title: 'Serves', render: (tunnel) => <TunnelAddress tunnel={tunnel} /> },
            { title: 'Forwards to', kind: 'mono', render: ({ forwards_to }) => forwards_to },
            { title: 'Protocol', render: ({ proto }) => proto?.toUpperCase() ?? 'by labels' },
            { title: 'Since', kind: 'fit', render: ({ started_at }) => <Time value={started_at} /> },
          ]}
        />
      )}
    </Card>
  )
}

function TunnelAddress({ tunnel: { public_url, labels } }: { tunnel: Tunnel }) {
  if (public_url === null)
    return (
      <span className="badges">
        {Object.entries(labels ?? {}).map(([key, value]) => (
          <Badge key={key} tone="info">
            {key}={value}
          </Badge>
        ))}
      </span>
    )
  return /^https?:/.test(public_url) ? (
    <a href={public_url} target="_blank" rel="noreferrer">
      {public_url}
    </a>
  ) : (
    public_url
  )
}

import { useState } from 'react'
import type { TunnelSession } from '../../../../api-client/index.ts'
import type { AgentIdentity, AgentIdentityPage } from '../../../../dashboard/page-data.ts'
import { api } from '../../api.ts'
import { Button, Confirm, Equivalent, notify } from '../../kit/index.ts'
import { useCanChange } from '../../session.ts'

type Command = 'restart' | 'stop' | 'update'

interface CommandText {
  readonly verb: string
  readonly question: (who: string) => string
  readonly warning: string
  readonly done: (who: string) => string
}

const COMMAND_TEXTS: Readonly<Record<Command, CommandText>> = {
  restart: {
    verb: 'Restart',
    question: (name) => `Restart the agent ${name}?`,
    warning:
      'The agent disconnects and restarts with the same configuration. Its endpoints are briefly offline, and it reconnects as a new session.',
    done: (name) => `The agent ${name} restarts. It reconnects as a new session.`,
  },
  stop: {
    verb: 'Stop',
    question: (name) => `Stop the agent ${name}?`,
    warning: 'The agent exits and closes all its tunnels. It can only be started again on its own machine.',
    done: (name) => `The agent ${name} has stopped.`,
  },
  update: {
    verb: 'Update',
    question: (name) => `Update the agent ${name}?`,
    warning:
      'The agent installs the newest version of its update channel, never a new major version, and restarts. Its endpoints are briefly offline.',
    done: (name) => `The agent ${name} accepted the update command.`,
  },
}

/** A session with what tells its agent apart; undefined until that is loaded. */
export type Agent = TunnelSession & { readonly identity: AgentIdentity | undefined }

/** The display name of an agent: its metadata if short, otherwise its host name, or its address and system. */
export function agentName({ ip, metadata, os, identity }: Agent): string {
  const label = metadata !== '' && metadata.length <= 40 && !/[{[]/.test(metadata) ? metadata : ''
  return label || identity?.hostname || [ip, os].filter(Boolean).join(' · ')
}

/** The identities of online agents: of one session, or of a page of those that match a search. */
export function listAgentIdentities(
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<AgentIdentityPage> {
  return api.get<AgentIdentityPage>(`/dashboard/api/agents?${new URLSearchParams(query)}`, signal)
}

/** SSH clients do not accept commands. */
export function acceptsCommands({ transport }: TunnelSession): boolean {
  return transport !== 'ssh'
}

/** Buttons for the commands of an agent, each with a confirmation. */
export function Commands({ session, onDone }: { session: Agent; onDone: (message: string) => void }) {
  const [pending, setPending] = useState<Command>()
  const mayChange = useCanChange()
  if (!mayChange || !acceptsCommands(session)) return null
  const name = agentName(session)
  const text = pending && COMMAND_TEXTS[pending]
  return (
    <>
      {(Object.keys(COMMAND_TEXTS) as Command[]).map((command) => (
        <Button
          key={command}
          kind={command === 'stop' ? 'danger' : 'plain'}
          aria-label={`${COMMAND_TEXTS[command].verb} ${name}`}
          onClick={() => setPending(command)}
        >
          {COMMAND_TEXTS[command].verb}
        </Button>
      ))}
      {pending && text && (
        <Confirm
          title={text.question(name)}
          verb={text.verb}
          onClose={() => setPending(undefined)}
          onConfirm={async () => {
            await api.post(`/tunnel_sessions/${session.id}/${pending}`, {})
            setPending(undefined)
            notify(text.done(name))
            onDone(text.done(name))
          }}
        >
          <p>{text.warning}</p>
          <Equivalent method="POST" path={`/tunnel_sessions/${session.id}/${pending}`} body={{}} />
        </Confirm>
      )}
    </>
  )
}

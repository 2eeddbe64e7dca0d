import { useState } from 'react'
import { api } from '../../api.ts'
import { Button, Confirm, Equivalent, say } from '../../kit/index.ts'
import { useMayChange } from '../../session.ts'
import type { TunnelSession } from '../resources.ts'

type Command = 'restart' | 'stop' | 'update'

interface CommandWords {
  readonly verb: string
  readonly title: (who: string) => string
  readonly warning: string
  readonly done: (who: string) => string
}

const COMMANDS: Readonly<Record<Command, CommandWords>> = {
  restart: {
    verb: 'Restart',
    title: (who) => `Restart the agent ${who}?`,
    warning:
      'The agent ends its connection and starts again with the same configuration. Its endpoints are away for a moment, and it comes back as a new session.',
    done: (who) => `The agent ${who} restarts. It comes back as a new session.`,
  },
  stop: {
    verb: 'Stop',
    title: (who) => `Stop the agent ${who}?`,
    warning:
      'The agent ends, with all its tunnels. It has to be started again on its own machine: nobody can do that from here.',
    done: (who) => `The agent ${who} has stopped.`,
  },
  update: {
    verb: 'Update',
    title: (who) => `Update the agent ${who}?`,
    warning:
      'The agent installs the newest version of its update channel, never a new major version, and starts again. Its endpoints are away for a moment.',
    done: (who) => `The agent ${who} has been told to update and accepted.`,
  },
}

/** An agent as people know it: what it says of itself, or where it is. */
export function agentName({ ip, metadata, os }: TunnelSession): string {
  const said = metadata !== '' && metadata.length <= 40 && !/[{[]/.test(metadata) ? metadata : ''
  return said || [ip, os].filter(Boolean).join(' · ')
}

/** SSH clients have nobody who would carry out commands. */
export function takesCommands({ transport }: TunnelSession): boolean {
  return transport !== 'ssh'
}

/** Buttons for what an agent can be told, each with a question first. */
export function Commands({ session, onDone }: { session: TunnelSession; onDone: (said: string) => void }) {
  const [asked, setAsked] = useState<Command>()
  const mayChange = useMayChange()
  if (!mayChange || !takesCommands(session)) return null
  const who = agentName(session)
  const words = asked && COMMANDS[asked]
  return (
    <>
      {(Object.keys(COMMANDS) as Command[]).map((command) => (
        <Button
          key={command}
          kind={command === 'stop' ? 'danger' : 'plain'}
          aria-label={`${COMMANDS[command].verb} ${who}`}
          onClick={() => setAsked(command)}
        >
          {COMMANDS[command].verb}
        </Button>
      ))}
      {asked && words && (
        <Confirm
          title={words.title(who)}
          verb={words.verb}
          onClose={() => setAsked(undefined)}
          onConfirm={async () => {
            await api.post(`/tunnel_sessions/${session.id}/${asked}`, {})
            setAsked(undefined)
            say(words.done(who))
            onDone(words.done(who))
          }}
        >
          <p>{words.warning}</p>
          <Equivalent method="POST" path={`/tunnel_sessions/${session.id}/${asked}`} body={{}} />
        </Confirm>
      )}
    </>
  )
}

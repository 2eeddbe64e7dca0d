import { Endpoint, Tunnel, TunnelSession } from '../resources/index.ts'
import type { Call } from './call.ts'
import { auditDone } from './crud.ts'
import { emptyBody, type Operation, onlineOperations } from './operations.ts'
import { problem } from './problems.ts'

/** Commands to the agent behind a session. */
export type Command = 'restart' | 'stop' | 'update'

/** How a command ended: carried out, refused by the agent for a reason, failed there, or never answered. */
export type CommandOutcome =
  | { readonly done: true }
  | { readonly done: false; readonly because: 'unsupported' | 'failed' | 'lost'; readonly reason: string }

type Body = Record<string, unknown>

/** What the API asks of the sessions online; every answer is about one account alone. */
export interface Online {
  sessions(accountId: string): Body[]
  tunnels(accountId: string): Body[]
  endpoints(accountId: string): Body[]
  /** Ids of tunnels whose labels hold these. */
  tunnelsWith(accountId: string, labels: Readonly<Record<string, string>>): string[]
  /** Undefined when no such session is online in this account. */
  command(accountId: string, sessionId: string, command: Command): Promise<CommandOutcome | undefined>
}

async function run(command: Command, call: Call, id: string): Promise<undefined> {
  const outcome = await call.parts.online.command(call.principal.accountId, id, command)
  if (outcome === undefined) throw problem('not_found', TunnelSession.name, id)
  if (!outcome.done) {
    if (outcome.because === 'unsupported') throw problem('command_unsupported', outcome.reason)
    if (outcome.because === 'failed') throw problem('command_failed', outcome.reason)
    throw problem('command_lost')
  }
  await call.store.write({}, (tx) => tx.audit(auditDone(call, command, TunnelSession.kind, id)))
  return undefined
}

const SUMMARIES: Record<Command, string> = {
  restart: 'Restart the agent of a tunnel session; it comes back under a new session id',
  stop: 'Stop the agent of a tunnel session',
  update: 'Update the agent of a tunnel session, never to a new major version',
}

export const sessionOperations: Operation[] = [
  ...onlineOperations(TunnelSession, ({ parts, principal }) => parts.online.sessions(principal.accountId)),
  ...onlineOperations(Tunnel, ({ parts, principal }) => parts.online.tunnels(principal.accountId)),
  ...onlineOperations(Endpoint, ({ parts, principal }) => parts.online.endpoints(principal.accountId)),
  ...(['restart', 'stop', 'update'] as const).map(
    (command): Operation => ({
      id: `tunnel_sessions.${command}`,
      summary: SUMMARIES[command],
      tag: 'tunnel_sessions',
      method: 'POST',
      path: `/tunnel_sessions/{id}/${command}`,
      body: emptyBody,
      status: 204,
      run: (call, { params }) => run(command, call, params.id!),
    }),
  ),
]

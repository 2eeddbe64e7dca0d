import { Endpoint, Tunnel, TunnelSession } from '../resources/index.ts'
import type { Call } from './call.ts'
import { auditDone } from './crud.ts'
import { edgeEndpoints } from './endpoints.ts'
import { type Operation, onlineOperations } from './operations.ts'
import { problem } from './problems.ts'
import { type Command, commandRoutes } from './session-routes.ts'

/** How a command ended: carried out, refused by the agent for a reason, failed there, or never answered. */
export type CommandOutcome =
  | { readonly done: true }
  | { readonly done: false; readonly because: 'unsupported' | 'failed' | 'lost'; readonly reason: string }

type Body = Record<string, unknown>

/** What the API asks of the sessions online; every answer is about one account alone. */
export interface Online {
  sessions(accountId: string): Body[]
  tunnels(accountId: string): Body[]
  /** Those that tunnels make. */
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
  await call.store.write({}, (tx) => tx.audit(auditDone(call, id)))
  return undefined
}

export const sessionOperations: Operation[] = [
  ...onlineOperations(TunnelSession, ({ parts, principal }) => parts.online.sessions(principal.accountId)),
  ...onlineOperations(Tunnel, ({ parts, principal }) => parts.online.tunnels(principal.accountId)),
  ...onlineOperations(Endpoint, async (call, wanted) => [
    ...call.parts.online.endpoints(call.principal.accountId),
    ...(await edgeEndpoints(call, wanted)),
  ]),
  ...Object.entries(commandRoutes).map(
    ([command, route]): Operation => ({
      ...route,
      run: (call, { params }) => run(command as Command, call, params.id!),
    }),
  ),
]

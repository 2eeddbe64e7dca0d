import { Endpoint, Tunnel, TunnelSession } from '../resources/index.ts'
import type { ApiCall } from './call.ts'
import { auditEntry } from './crud.ts'
import { edgeEndpoints } from './endpoints.ts'
import { type ApiOperation, onlineOperations } from './operations.ts'
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

async function runCommand(command: Command, call: ApiCall, id: string): Promise<undefined> {
  const result = await call.parts.online.command(call.principal.accountId, id, command)
  if (result === undefined) throw problem('not_found', TunnelSession.name, id)
  if (!result.done) {
    if (result.because === 'unsupported') throw problem('command_unsupported', result.reason)
    if (result.because === 'failed') throw problem('command_failed', result.reason)
    throw problem('command_lost')
  }
  await call.store.write({}, (tx) => tx.audit(auditEntry(call, id)))
  return undefined
}

export const sessionOperations: ApiOperation[] = [
  ...onlineOperations(TunnelSession, ({ parts, principal }) => parts.online.sessions(principal.accountId)),
  ...onlineOperations(Tunnel, ({ parts, principal }) => parts.online.tunnels(principal.accountId)),
  ...onlineOperations(Endpoint, async (call, query) => [
    ...call.parts.online.endpoints(call.principal.accountId),
    ...(await edgeEndpoints(call, query)),
  ]),
  ...Object.entries(commandRoutes).map(
    ([command, route]): ApiOperation => ({
      ...route,
      run: (call, { params }) => runCommand(command as Command, call, params.id!),
    }),
  ),
]

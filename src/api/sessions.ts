import { Endpoint, Tunnel, TunnelSession } from '../resources/index.ts'
import type { ApiCall } from './call.ts'
import { auditEntry } from './crud.ts'
import { edgeEndpoints } from './endpoints.ts'
import { type ApiOperation, onlineOperations } from './operations.ts'
import { problem } from './problems.ts'
import { type CommandName, commandRoutes } from './session-routes.ts'

/** The result of a command: done, rejected by the agent, failed there, or lost without a response. */
export type CommandResult =
  | { readonly done: true }
  | { readonly done: false; readonly because: 'unsupported' | 'failed' | 'lost'; readonly reason: string }

type Body = Record<string, unknown>

/** The online sessions, tunnels and endpoints of one account. */
export interface OnlineInventory {
  sessions(accountId: string): Body[]
  tunnels(accountId: string): Body[]
  /** The endpoints of tunnels. */
  endpoints(accountId: string): Body[]
  /** Ids of the tunnels whose labels include these. */
  tunnelsWith(accountId: string, labels: Readonly<Record<string, string>>): string[]
  /** Undefined when no such session is online in this account. */
  command(accountId: string, sessionId: string, command: CommandName): Promise<CommandResult | undefined>
}

async function runCommand(command: CommandName, call: ApiCall, id: string): Promise<undefined> {
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
      run: (call, { params }) => runCommand(command as CommandName, call, params.id!),
    }),
  ),
]

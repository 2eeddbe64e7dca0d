import { Tunnel, TunnelSession } from '../../resources/index.ts'
import type { ApiCall } from '../call.ts'
import { auditEntry } from '../crud/crud.ts'
import { type ApiOperation, onlineOperations, operation } from '../crud/operations.ts'
import { problem } from '../problems.ts'
import { type CommandName, commandRoutes } from '../session-routes.ts'

async function runCommand(command: CommandName, call: ApiCall, id: string): Promise<undefined> {
  const result = await call.dependencies.online.command(call.principal.accountId, id, command)
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
  ...onlineOperations(TunnelSession, ({ dependencies, principal }) =>
    dependencies.online.sessions(principal.accountId),
  ),
  ...onlineOperations(Tunnel, ({ dependencies, principal }) =>
    dependencies.online.tunnels(principal.accountId),
  ),
  ...Object.entries(commandRoutes).map(([command, route]) =>
    operation(route, (call, { params }) => runCommand(command as CommandName, call, params.id)),
  ),
]

import type { Command, CommandOutcome } from '../session/live-session.ts'
import { hasEndpoint } from '../session/live-tunnel.ts'
import type { Registry } from './registry.ts'
import { endpointView, sessionView, tunnelView, type ViewContext } from './views.ts'

/** Online sessions, tunnels and endpoints as the management API renders them, each call for one account. */
export interface OnlineResources {
  sessions(accountId: string): Record<string, unknown>[]
  tunnels(accountId: string): Record<string, unknown>[]
  /** The endpoints of tunnels; the API adds those of edges. */
  endpoints(accountId: string): Record<string, unknown>[]
  /** Ids of the tunnels whose labels include these. */
  tunnelsWith(accountId: string, labels: Readonly<Record<string, string>>): string[]
  /** Undefined when the account has no such session online. */
  command(accountId: string, sessionId: string, command: Command): Promise<CommandOutcome | undefined>
}

export function createOnlineResources(registry: Registry, context: ViewContext): OnlineResources {
  return {
    sessions: (accountId) =>
      registry
        .sessionsOf(accountId)
        .map((session) => sessionView(session, registry.legsOf(session), context)),
    tunnels: (accountId) => registry.tunnelsOf(accountId).map((tunnel) => tunnelView(tunnel, context)),
    endpoints: (accountId) =>
      registry
        .tunnelsOf(accountId)
        .filter(hasEndpoint)
        .map((tunnel) => endpointView(tunnel, context)),
    tunnelsWith: (accountId, labels) => registry.findLabelled(accountId, labels).map(({ id }) => id),
    command: async (accountId, sessionId, command) =>
      registry.session(accountId, sessionId)?.command(command),
  }
}

import type { Command, CommandOutcome } from './live-session.ts'
import type { Registry } from './registry.ts'
import { endpointView, sessionView, tunnelView, type ViewContext } from './views.ts'

/** What is online, as the management API shows it; every answer is about one account alone. */
export interface OnlineResources {
  sessions(accountId: string): Record<string, unknown>[]
  tunnels(accountId: string): Record<string, unknown>[]
  /** The endpoints that tunnels make; those of edges are the API's own. */
  endpoints(accountId: string): Record<string, unknown>[]
  /** Ids of tunnels whose labels hold these. */
  tunnelsWith(accountId: string, labels: Readonly<Record<string, string>>): string[]
  /** Undefined when no such session is online in this account. */
  command(accountId: string, sessionId: string, command: Command): Promise<CommandOutcome | undefined>
}

export function createOnline(registry: Registry, context: ViewContext): OnlineResources {
  return {
    sessions: (accountId) => registry.sessionsOf(accountId).map((session) => sessionView(session, context)),
    tunnels: (accountId) => registry.tunnelsOf(accountId).map((tunnel) => tunnelView(tunnel, context)),
    endpoints: (accountId) =>
      registry
        .tunnelsOf(accountId)
        .filter(({ labels }) => labels === undefined)
        .map((tunnel) => endpointView(tunnel, context)),
    tunnelsWith: (accountId, labels) => registry.labelled(accountId, labels).map(({ id }) => id),
    command: async (accountId, sessionId, command) =>
      registry.session(accountId, sessionId)?.command(command),
  }
}

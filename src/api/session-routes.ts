import { type ApiRoute, emptyBody, type ItemPath } from './routes.ts'

/** Commands to the agent behind a session. */
export type CommandName = 'restart' | 'stop' | 'update'

function commandRoute(name: CommandName, summary: string): ApiRoute<ItemPath> {
  return {
    id: `tunnel_sessions.${name}`,
    summary,
    tag: 'tunnel_sessions',
    method: 'POST',
    path: `/tunnel_sessions/{id}/${name}`,
    body: emptyBody,
    status: 204,
    requires: { role: 'developer' },
  }
}

export const commandRoutes: Record<CommandName, ApiRoute<ItemPath>> = {
  restart: commandRoute(
    'restart',
    'Restart the agent of a tunnel session; it reconnects with a new session ID',
  ),
  stop: commandRoute('stop', 'Stop the agent of a tunnel session'),
  update: commandRoute('update', 'Update the agent of a tunnel session, never to a new major version'),
}

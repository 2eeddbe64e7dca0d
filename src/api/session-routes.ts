import { emptyBody, type Route } from './routes.ts'

/** Commands to the agent behind a session. */
export type Command = 'restart' | 'stop' | 'update'

function commandRoute(name: Command, summary: string): Route {
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

export const commandRoutes: Record<Command, Route> = {
  restart: commandRoute(
    'restart',
    'Restart the agent of a tunnel session; it comes back under a new session id',
  ),
  stop: commandRoute('stop', 'Stop the agent of a tunnel session'),
  update: commandRoute('update', 'Update the agent of a tunnel session, never to a new major version'),
}

import type { Agent } from '../agent.ts'
import type { Tunnel } from '../tunnels/tunnel.ts'

/** What is worth telling where no screen can be shown. */
export interface Events {
  web(url: string): void
  session(status: string, detail: string): void
  tunnel(tunnel: Tunnel): void
  /** A tunnel cannot be started yet. */
  waiting(reason: string): void
}

/** Follows an agent and tells what changes, each thing once, until the function given back is called. */
export function tellEvents(agent: Agent, events: Events): () => void {
  let status = ''
  let waiting: string | undefined
  const urls = new Map<Tunnel, string>()
  const look = () => {
    const { connection, tunnels } = agent
    const detail = connection.status === 'online' ? '' : (connection.lastError?.message.split('\n')[0] ?? '')
    const now = `${connection.status} ${detail}`
    if (now !== status && (connection.status !== 'connecting' || detail !== '')) {
      status = now
      events.session(connection.status, detail)
    }
    if (tunnels.waitReason !== undefined && tunnels.waitReason !== waiting) events.waiting(tunnels.waitReason)
    waiting = tunnels.waitReason
    for (const tunnel of tunnels.list()) {
      if (urls.get(tunnel) === tunnel.publicUrl) continue
      urls.set(tunnel, tunnel.publicUrl)
      events.tunnel(tunnel)
    }
  }
  look()
  return agent.follow(look)
}

/** Lines for people and simple scripts. */
export function plainEvents(write: (line: string) => void): Events {
  return {
    web: (url) => write(`Web Interface  ${url}\n`),
    session: (status, detail) => write(`Session        ${status}${detail ? ` (${detail})` : ''}\n`),
    tunnel: (tunnel) =>
      write(`Forwarding     ${tunnel.publicUrl || labelsOf(tunnel)} -> ${tunnel.spec.upstream.shown}\n`),
    waiting: (reason) => write(`Waiting        ${reason}\n`),
  }
}

/** One JSON object a line, for programs (`--output json`). */
export function jsonEvents(write: (line: string) => void): Events {
  const emit = (event: object) => write(`${JSON.stringify(event)}\n`)
  return {
    web: (url) => emit({ event: 'web', url }),
    session: (status, detail) => emit({ event: 'session', status, ...(detail ? { error: detail } : {}) }),
    waiting: (reason) => emit({ event: 'waiting', reason }),
    tunnel: ({ name, publicUrl, proto, spec }) =>
      emit({
        event: 'tunnel',
        name,
        public_url: publicUrl,
        proto,
        addr: spec.upstream.shown,
        ...(spec.labels ? { labels: spec.labels } : {}),
      }),
  }
}

function labelsOf({ spec }: Tunnel): string {
  return Object.entries(spec.labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}

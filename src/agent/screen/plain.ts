import type { Agent } from '../agent.ts'
import type { AgentTunnel } from '../tunnels/tunnel.ts'
import { followHints, type Hint } from './hints.ts'
import { describeQrCode } from './qr-rows.ts'

/** Receives status changes where there is no screen. */
export interface StatusReporter {
  web(url: string): void
  session(status: string, detail: string): void
  tunnel(tunnel: AgentTunnel): void
  /** A tunnel waits to be started. */
  waiting(reason: string): void
  /** Advice about a printed URL. */
  hint(hint: Hint): void
}

/** Reports each status change of an agent once; the returned function stops it. */
export function reportStatus(agent: Agent, reporter: StatusReporter): () => void {
  let status = ''
  let waitReason: string | undefined
  const urls = new Map<AgentTunnel, string>()
  const report = () => {
    const { connection, tunnels } = agent
    const detail = connection.status === 'online' ? '' : (connection.lastError?.message.split('\n')[0] ?? '')
    const current = `${connection.status} ${detail}`
    if (current !== status && (connection.status !== 'connecting' || detail !== '')) {
      status = current
      reporter.session(connection.status, detail)
    }
    if (tunnels.waitReason !== undefined && tunnels.waitReason !== waitReason)
      reporter.waiting(tunnels.waitReason)
    waitReason = tunnels.waitReason
    for (const tunnel of tunnels.list()) {
      if (urls.get(tunnel) === tunnel.publicUrl) continue
      urls.set(tunnel, tunnel.publicUrl)
      reporter.tunnel(tunnel)
    }
  }
  report()
  // After the line of the tunnel that a hint is about.
  const unfollows = [agent.follow(report), followHints(agent, (hint) => reporter.hint(hint))]
  return () => {
    for (const unfollow of unfollows) unfollow()
  }
}

/** Prints lines for people and simple scripts; with `qr` the QR code of the first URL too. */
export function createPlainReporter(
  write: (line: string) => void,
  { qr = false }: { qr?: boolean } = {},
): StatusReporter {
  let qrPending = qr
  return {
    web: (url) => write(`Web Interface  ${url}\n`),
    session: (status, detail) => write(`Session        ${status}${detail ? ` (${detail})` : ''}\n`),
    tunnel: (tunnel) => {
      write(`Forwarding     ${tunnel.publicUrl || formatLabels(tunnel)} -> ${tunnel.spec.upstream.text}\n`)
      if (!qrPending || tunnel.publicUrl === '') return
      qrPending = false
      const { code, notes } = describeQrCode(tunnel.publicUrl)
      for (const line of [...code, ...notes]) write(`${line}\n`)
    },
    waiting: (reason) => write(`Waiting        ${reason}\n`),
    hint: ([finding, ...remedies]) => {
      write(`Hint           ${finding}\n`)
      for (const remedy of remedies) write(`               ${remedy}\n`)
    },
  }
}

/** Prints one JSON object per line (`--output json`). */
export function createJsonReporter(write: (line: string) => void): StatusReporter {
  const emit = (event: object) => write(`${JSON.stringify(event)}\n`)
  return {
    web: (url) => emit({ event: 'web', url }),
    session: (status, detail) => emit({ event: 'session', status, ...(detail ? { error: detail } : {}) }),
    waiting: (reason) => emit({ event: 'waiting', reason }),
    // For people: a program that reads JSON picks the URL it can open.
    hint: () => {},
    tunnel: ({ name, publicUrl, proto, spec }) =>
      emit({
        event: 'tunnel',
        name,
        public_url: publicUrl,
        proto,
        addr: spec.upstream.text,
        ...(spec.labels ? { labels: spec.labels } : {}),
      }),
  }
}

function formatLabels({ spec }: AgentTunnel): string {
  return Object.entries(spec.labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}

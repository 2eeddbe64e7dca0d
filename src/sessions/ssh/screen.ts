import { shown } from './command-line.ts'
import { type LoggedRequest, tunnelOf } from './request-log.ts'
import type { SessionChannel } from './ssh2.ts'

/** A tunnel as the terminal shows it. */
export interface ShownTunnel {
  readonly id: string
  readonly proto: string | undefined
  readonly url: string | undefined
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly forwardsTo: string
}

/** What happens to an SSH client, told to its user. */
export interface Screen {
  started(sessionId: string): void
  tunnel(tunnel: ShownTunnel, forward: string): void
  refused(forward: string, reason: string): void
  /** A forward is asked for again until it can be had. */
  waiting(forward: string, reason: string): void
  tunnelEnded(tunnel: ShownTunnel, reason: string): void
  request(request: LoggedRequest): void
  /** The last words, and the status the client's program ends with. */
  end(reason: string, status: number): void
}

/** Bytes that may wait for a terminal that does not read; what comes on top is counted, not kept. */
const MOST_WAITING = 64 * 1024

/** For people: plain lines, the same with and without a terminal, except for how a line ends. */
export function textScreen(channel: SessionChannel, terminal: boolean): Screen {
  const say = lines(channel, terminal ? '\r\n' : '\n', (left) => `(${left} lines left out)`)
  return {
    started: () => {},
    tunnel: (tunnel) => say(`${nameOf(tunnel)} -> ${shown(tunnel.forwardsTo)}`),
    refused: (forward, reason) => say(`${shown(forward)} was refused: ${shown(reason, 600)}`),
    waiting: (forward, reason) => say(`${shown(forward)} is waiting: ${shown(reason, 600)}`),
    tunnelEnded: (tunnel, reason) => say(`${nameOf(tunnel)} is offline: ${shown(reason, 600)}`),
    request({ endedAt, startedAt, method, target, status, connection }) {
      const time = new Date(endedAt).toISOString().slice(11, 19)
      const took = `${Math.max(0, Math.round(endedAt - startedAt))} ms`
      say(`${time}  ${shown(method, 20)} ${shown(target)}  ${status}  ${took}  ${connection.remoteAddress}`)
    },
    end(reason, status) {
      if (reason !== '') say(shown(reason, 2000))
      finish(channel, status)
    },
  }
}

/** For programs: one JSON object a line, told apart by `event`. */
export function jsonScreen(channel: SessionChannel): Screen {
  const write = lines(channel, '\n', (left) => JSON.stringify({ event: 'lines_left_out', count: left }))
  const say = (event: string, facts: object) => write(JSON.stringify({ event, ...facts }))
  return {
    started: (sessionId) => say('session', { id: sessionId }),
    tunnel: ({ id, proto, url, labels, forwardsTo }, forward) =>
      say('tunnel', {
        id,
        forward,
        proto: proto ?? null,
        url: url ?? null,
        labels: labels ?? null,
        forwards_to: forwardsTo,
      }),
    refused: (forward, reason) => say('refused', { forward, reason }),
    waiting: (forward, reason) => say('waiting', { forward, reason }),
    tunnelEnded: ({ id, url }, reason) => say('tunnel_ended', { id, url: url ?? null, reason }),
    request: (request) =>
      say('request', {
        tunnel_id: tunnelOf(request),
        time: new Date(request.endedAt).toISOString(),
        method: request.method,
        path: request.target,
        status: request.status,
        duration_ms: Math.max(0, Math.round(request.endedAt - request.startedAt)),
        client_ip: request.connection.remoteAddress,
      }),
    end(reason, status) {
      if (reason !== '') say('end', { reason, status })
      finish(channel, status)
    },
  }
}

function lines(channel: SessionChannel, ending: string, leftOut: (count: number) => string) {
  let left = 0
  return (line: string) => {
    if (!channel.writable) return
    if (channel.writableLength > MOST_WAITING) {
      left++
      return
    }
    if (left > 0) channel.write(leftOut(left) + ending)
    left = 0
    channel.write(line + ending)
  }
}

function finish(channel: SessionChannel, status: number): void {
  if (!channel.writable) return
  channel.exit(status)
  channel.end()
}

function nameOf({ url, labels }: ShownTunnel): string {
  if (url !== undefined) return url
  return Object.entries(labels ?? {})
    .map(([key, value]) => `${shown(key)}=${shown(value)}`)
    .join(' ')
}

import type { Tunnel } from '../tunnel.ts'
import { sanitize } from './command-line.ts'
import { type LoggedRequest, loggedTunnelId } from './request-log.ts'
import type { SessionChannel } from './transport/ssh2.ts'

/** A tunnel as the terminal displays it. */
export type ScreenTunnel = Pick<Tunnel, 'id' | 'address' | 'forwardsTo'>

/** The output for the user of an SSH client. */
export interface Screen {
  started(sessionId: string): void
  tunnel(tunnel: ScreenTunnel, forward: string): void
  rejected(forward: string, reason: string): void
  /** A forward is being retried. */
  waiting(forward: string, reason: string): void
  tunnelEnded(tunnel: ScreenTunnel, reason: string): void
  request(request: LoggedRequest): void
  /** Prints the reason and ends the client's command with the exit status. */
  end(reason: string, status: number): void
}

/** Output buffered for a terminal that does not read; further lines are counted and dropped. */
const MAX_BUFFERED_BYTES = 64 * 1024

/** Plain lines for people, the same with and without a terminal except for the line ending. */
export function textScreen(channel: SessionChannel, terminal: boolean): Screen {
  const print = createLineWriter(
    channel,
    terminal ? '\r\n' : '\n',
    (dropped) => `(${dropped} lines left out)`,
  )
  return {
    started: () => {},
    tunnel: (tunnel) => print(`${displayName(tunnel)} -> ${sanitize(tunnel.forwardsTo)}`),
    rejected: (forward, reason) => print(`-R ${sanitize(forward)} was rejected: ${sanitize(reason, 600)}`),
    waiting: (forward, reason) => print(`-R ${sanitize(forward)} is waiting: ${sanitize(reason, 600)}`),
    tunnelEnded: (tunnel, reason) => print(`${displayName(tunnel)} is offline: ${sanitize(reason, 600)}`),
    request({ endedAt, startedAt, method, target, status, connection }) {
      const time = new Date(endedAt).toISOString().slice(11, 19)
      const duration = `${Math.max(0, Math.round(endedAt - startedAt))} ms`
      print(
        `${time}  ${sanitize(method, 20)} ${sanitize(target)}  ${status}  ${duration}  ${connection.remoteAddress}`,
      )
    },
    end(reason, status) {
      if (reason !== '') print(sanitize(reason, 2000))
      finish(channel, status)
    },
  }
}

/** For programs: one JSON object per line, distinguished by `event`. */
export function jsonScreen(channel: SessionChannel): Screen {
  const write = createLineWriter(channel, '\n', (dropped) =>
    JSON.stringify({ event: 'lines_left_out', count: dropped }),
  )
  const print = (event: string, fields: object) => write(JSON.stringify({ event, ...fields }))
  return {
    started: (sessionId) => print('session', { id: sessionId }),
    tunnel: ({ id, address: { proto, url, labels }, forwardsTo }, forward) =>
      print('tunnel', {
        id,
        forward,
        proto: proto ?? null,
        url: url ?? null,
        labels: labels ?? null,
        forwards_to: forwardsTo,
      }),
    rejected: (forward, reason) => print('refused', { forward, reason }),
    waiting: (forward, reason) => print('waiting', { forward, reason }),
    tunnelEnded: ({ id, address }, reason) => print('tunnel_ended', { id, url: address.url ?? null, reason }),
    request: (request) =>
      print('request', {
        tunnel_id: loggedTunnelId(request),
        time: new Date(request.endedAt).toISOString(),
        method: request.method,
        path: request.target,
        status: request.status,
        duration_ms: Math.max(0, Math.round(request.endedAt - request.startedAt)),
        client_ip: request.connection.remoteAddress,
      }),
    end(reason, status) {
      if (reason !== '') print('end', { reason, status })
      finish(channel, status)
    },
  }
}

function createLineWriter(
  channel: SessionChannel,
  lineEnd: string,
  formatDropped: (count: number) => string,
) {
  let dropped = 0
  return (line: string) => {
    if (!channel.writable) return
    if (channel.writableLength > MAX_BUFFERED_BYTES) {
      dropped++
      return
    }
    if (dropped > 0) channel.write(formatDropped(dropped) + lineEnd)
    dropped = 0
    channel.write(line + lineEnd)
  }
}

function finish(channel: SessionChannel, status: number): void {
  if (!channel.writable) return
  channel.exit(status)
  channel.end()
}

function displayName({ address }: ScreenTunnel): string {
  if (address.proto !== undefined) return address.url
  return Object.entries(address.labels)
    .map(([key, value]) => `${sanitize(key)}=${sanitize(value)}`)
    .join(' ')
}

import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6, type Server, type Socket } from 'node:net'
import { type Listen, listen as openListener } from '../base/io/sockets/listeners.ts'
import type { Logger } from '../base/process/log.ts'
import { type Clock, systemClock } from '../base/values/clock.ts'
import { respondTo } from './message.ts'
import { ResponseRateLimit, type ResponseRateLimitOptions } from './rate-limit.ts'
import { createTcpServer, type TcpLimits } from './tcp.ts'
import type { ZoneTable } from './zone.ts'

/** The options of the DNS server. */
export interface DnsOptions {
  /** The current zones; read for every message, so a change needs no restart. */
  table: () => ZoneTable
  /** Port 0 picks a port that is free for both UDP and TCP. */
  addr: { host: string; port: number }
  log: Logger
  /** False disables the limit, for servers that only trusted networks reach. */
  rateLimit?: Partial<ResponseRateLimitOptions> | false
  tcp?: Partial<TcpLimits>
  clock?: Clock
  /** Opens the TCP listener. */
  listen?: Listen
}

/** Counts since the start. */
export interface DnsCounts {
  udp: number
  tcp: number
  /** Messages that were not valid queries and got no response. */
  ignored: number
  /** Responses dropped or truncated by the rate limit. */
  limited: number
  /** Messages that caused an internal error; each is logged. */
  failed: number
}

/** An authoritative DNS server. */
export interface Dns {
  start(): Promise<void>
  stop(): Promise<void>
  /** The bound address; available after `start`. */
  readonly address: { host: string; port: number }
  readonly counts: Readonly<DnsCounts>
}

const MAX_PORT_ATTEMPTS = 20

/** Creates an authoritative server for its zones, over UDP and TCP on one port. */
export function createDns(options: DnsOptions): Dns {
  const { table, addr, log, clock = systemClock, listen = openListener } = options
  const rateLimit =
    options.rateLimit === false
      ? undefined
      : new ResponseRateLimit({ perSecond: 20, burst: 60, slip: 2, ...options.rateLimit }, clock)
  const tcpLimits = { connections: 256, connectionsPerSource: 32, idleMs: 10_000, ...options.tcp }
  const counts: DnsCounts = { udp: 0, tcp: 0, ignored: 0, limited: 0, failed: 0 }
  const connections = new Set<Socket>()
  let udp: UdpSocket | undefined
  let tcp: Server | undefined
  let boundPort = 0

  /** No message may crash the process, not even through a bug. */
  function respond(query: Buffer, transport: 'udp' | 'tcp') {
    try {
      const response = respondTo(table(), query, transport)
      if (response === undefined) counts.ignored += 1
      return response
    } catch (error) {
      counts.failed += 1
      log.error({ err: error }, 'DNS message failed')
      return undefined
    }
  }

  function onDatagram(socket: UdpSocket, query: Buffer, client: RemoteInfo): void {
    counts.udp += 1
    const response = respond(query, 'udp')
    // Node throws when sending to port 0.
    if (response === undefined || client.port === 0) return
    const verdict = rateLimit?.check(client.address, response.kind) ?? 'send'
    if (verdict !== 'send') counts.limited += 1
    if (verdict === 'drop') return
    // Without a callback, a send error would be emitted on the socket.
    socket.send(
      verdict === 'send' ? response.bytes : response.truncated(),
      client.port,
      client.address,
      () => {},
    )
  }

  async function bindUdp(port: number): Promise<UdpSocket> {
    const type = isIPv6(addr.host) ? 'udp6' : 'udp4'
    // The release that replaces this one listens beside it for a moment; the TCP port belongs to one server alone.
    const socket = createSocket({ type, reusePort: process.platform === 'linux' })
    socket.bind(port, addr.host)
    await once(socket, 'listening')
    socket.on('message', (query, client) => onDatagram(socket, query, client))
    socket.on('error', (error) => log.warn({ err: error }, 'DNS socket error'))
    return socket
  }

  async function bindTcp(): Promise<{ server: Server; port: number }> {
    const server = createTcpServer((query) => {
      counts.tcp += 1
      return respond(query, 'tcp')?.bytes
    }, tcpLimits)
    server.on('connection', (socket) => {
      connections.add(socket)
      socket.on('close', () => connections.delete(socket))
    })
    const { port } = await listen(server, 'dns', addr)
    server.on('error', (error) => log.warn({ err: error }, 'DNS listener error'))
    return { server, port }
  }

  /** TCP picks the port, and UDP needs the same one, which may be in use. */
  async function bind(attempts: number): Promise<void> {
    const { server, port } = await bindTcp()
    try {
      udp = await bindUdp(port)
      tcp = server
      boundPort = port
    } catch (error) {
      server.close()
      if (addr.port !== 0 || attempts <= 1) throw error
      await bind(attempts - 1)
    }
  }

  return {
    counts,
    get address() {
      if (tcp === undefined) throw new Error('The DNS server has not been started.')
      return { host: addr.host, port: boundPort }
    },
    start: () => bind(MAX_PORT_ATTEMPTS),
    async stop() {
      const [socket, server] = [udp, tcp]
      udp = undefined
      tcp = undefined
      for (const connection of connections) connection.destroy()
      if (server !== undefined) await new Promise((done) => server.close(done))
      if (socket !== undefined) await new Promise<void>((done) => socket.close(done))
    },
  }
}

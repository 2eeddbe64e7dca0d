import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { systemClock } from '../../base/clock.ts'
import { fanOut } from '../../base/fan-out.ts'
import { Admission } from '../../base/io/admission.ts'
import type { ProxyProtocolReader } from '../../base/io/proxy-protocol-reader.ts'
import { readEnds, type SocketEnds } from '../../base/io/socket-ends.ts'
import { WindowBudget } from '../../base/io/window-budget.ts'
import { AuthThrottle, type AuthThrottleSettings, SSH_AUTH_THROTTLE } from '../auth-throttle.ts'
import { SshConnection, type SshConnectionOptions } from './ssh-connection.ts'

export interface SshGatewayOptions
  extends Omit<SshConnectionOptions, 'admitSession' | 'onAuthenticated' | 'onClose' | 'clock' | 'windows'> {
  clock?: SshConnectionOptions['clock']
  windows?: WindowBudget
  /** Admission of authenticated sessions by account, shared with the agent gateway. */
  sessions: Admission
  limits?: Partial<SshLimits>
  /** Addresses shared by many clients, such as a load balancer's. */
  isShared?: ((ip: string) => boolean) | undefined
  /** Set when connections begin with a PROXY protocol header. */
  proxyProtocol?: ProxyProtocolReader | undefined
  authThrottle?: AuthThrottleSettings
}

/** Limits of SSH clients before login (P50), and keepalive (P14). */
export interface SshLimits {
  loginTimeoutMs: number
  unauthenticatedPerClient: number
  unauthenticated: number
  /** How often a silent client is pinged. */
  keepaliveIntervalMs: number
  /** Silence after which a client counts as dead. */
  silenceTimeoutMs: number
}

const LIMITS: SshLimits = {
  loginTimeoutMs: 30_000,
  unauthenticatedPerClient: 10,
  unauthenticated: 100,
  keepaliveIntervalMs: 10_000,
  silenceTimeoutMs: 25_000,
}

/** Silence is measured in ticks: fractions of the keepalive interval. */
const TICKS_PER_KEEPALIVE = 10

/** The listener for SSH clients. */
export interface SshGateway {
  listen(port: number, host: string): Promise<AddressInfo>
  /** Open connections, authenticated or not. */
  readonly connections: number
  /** Stops listening and ends every session with the reason. */
  close(): Promise<void>
}

/** Creates the gateway; `listen` starts it. */
export function createSshGateway(options: SshGatewayOptions): SshGateway {
  const limits = { ...LIMITS, ...options.limits }
  const clock = options.clock ?? systemClock
  const admission = new Admission({
    total: limits.unauthenticated,
    perHolder: limits.unauthenticatedPerClient,
    isShared: options.isShared,
  })
  const windows = options.windows ?? new WindowBudget()
  const throttle = new AuthThrottle(clock, options.authThrottle ?? SSH_AUTH_THROTTLE)
  const connections = new Set<SshConnection>()
  const server = createServer({ noDelay: true }, accept)
  server.on('error', (error) => options.log.error({ err: error }, 'SSH listener failed'))
  let ticker: NodeJS.Timeout | undefined

  function accept(socket: Socket): void {
    if (options.proxyProtocol !== undefined) {
      options.proxyProtocol.read(socket, (ends) => admit(socket, ends))
      return
    }
    const ends = readEnds(socket)
    if (ends === undefined) socket.destroy()
    else admit(socket, ends)
  }

  function admit(socket: Socket, ends: SocketEnds): void {
    const ip = ends.remoteAddress
    socket.on('error', () => {})
    const release = throttle.isBlocked(ip) ? undefined : admission.acquireForClient(ip)
    if (release === undefined) {
      socket.destroy()
      return
    }
    const deadline = setTimeout(() => socket.destroy(), limits.loginTimeoutMs)
    const connection = new SshConnection(socket, ends, {
      ...options,
      clock,
      windows,
      admitSession(accountId) {
        const release = options.sessions.acquire(accountId)
        if (release !== undefined) socket.once('close', release)
        return release !== undefined
      },
      onAuthenticated() {
        clearTimeout(deadline)
        release()
      },
      onClose() {
        clearTimeout(deadline)
        release()
        connections.delete(connection)
        if (connection.failedLogin) throttle.recordFailure(ip)
      },
    })
    connections.add(connection)
  }

  const onError = (err: unknown) => options.log.error({ err }, 'SSH connection failed')

  /** One timer for all connections. A stall of this process counts as one tick, so it ends no connection. */
  function tick(): void {
    const deadAfter = Math.floor((limits.silenceTimeoutMs / limits.keepaliveIntervalMs) * TICKS_PER_KEEPALIVE)
    fanOut([...connections], (connection) => connection.tick(TICKS_PER_KEEPALIVE, deadAfter), onError)
  }

  return {
    get connections() {
      return connections.size
    },
    async listen(port, host) {
      server.listen(port, host)
      await once(server, 'listening')
      ticker = setInterval(tick, limits.keepaliveIntervalMs / TICKS_PER_KEEPALIVE)
      ticker.unref()
      return server.address() as AddressInfo
    },
    async close() {
      clearInterval(ticker)
      const closed = server.listening ? once(server, 'close') : undefined
      if (server.listening) server.close()
      options.proxyProtocol?.close()
      fanOut([...connections], (connection) => connection.end('The server is shutting down.'), onError)
      await closed
    },
  }
}

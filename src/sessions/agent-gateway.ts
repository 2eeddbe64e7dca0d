import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { clientKey } from '../base/client-key.ts'
import { systemClock } from '../base/clock.ts'
import { fanOut } from '../base/fan-out.ts'
import { Admission } from '../base/io/admission.ts'
import type { BufferPool } from '../base/io/buffer-pool.ts'
import { ByteBudgets, type ByteLimits } from '../base/io/byte-budget.ts'
import type { ProxyProtocolReader } from '../base/io/proxy-protocol-reader.ts'
import { readEnds, type SocketEnds } from '../base/io/socket-ends.ts'
import { WindowBudget } from '../base/io/window-budget.ts'
import { createLinkPool } from '../protocol/index.ts'
import { AgentConnection, type AgentConnectionOptions } from './agent-connection.ts'
import { AGENT_AUTH_THROTTLE, AuthThrottle, type AuthThrottleSettings } from './auth-throttle.ts'

export interface AgentGatewayOptions
  extends Omit<
    AgentConnectionOptions,
    | 'authDelayMs'
    | 'onAuthFailure'
    | 'admitSession'
    | 'onAuthenticated'
    | 'onClose'
    | 'clock'
    | 'pool'
    | 'windows'
    | 'budget'
    | 'serverName'
    | 'serverIp'
  > {
  /** The default certificate: for agents without SNI, or with a name that has no certificate. */
  secureContext(): SecureContext | undefined
  /** The certificate for a server name, if it has its own. */
  namedContext?(serverName: string): Promise<SecureContext | undefined>
  clock?: AgentConnectionOptions['clock']
  pool?: BufferPool
  windows?: WindowBudget
  /** Admission of authenticated sessions by account, shared with the SSH gateway. */
  sessions: Admission
  limits?: Partial<GatewayLimits>
  /** Addresses shared by many agents, such as a load balancer's. */
  isShared?: ((ip: string) => boolean) | undefined
  /** Set when connections begin with a PROXY protocol header. */
  proxyProtocol?: ProxyProtocolReader | undefined
  authThrottle?: AuthThrottleSettings
}

/** Limits of unauthenticated connections. */
export interface GatewayLimits {
  handshakeTimeoutMs: number
  authTimeoutMs: number
  unauthenticatedPerClient: number
  unauthenticated: number
  /** Delay of each login from a blocked address that also has authenticated agents. */
  authDelayMs: number
  /** Memory for incomplete messages. */
  messageBytes: ByteLimits
}

const LIMITS: GatewayLimits = {
  handshakeTimeoutMs: 10_000,
  authTimeoutMs: 10_000,
  unauthenticatedPerClient: 100,
  unauthenticated: 2000,
  authDelayMs: 1000,
  messageBytes: { perConnection: 1024 * 1024, perSource: 16 * 1024 * 1024, total: 64 * 1024 * 1024 },
}

/** The listener for agents. */
export interface AgentGateway {
  listen(port: number, host: string): Promise<AddressInfo>
  /** Open connections, authenticated or not. */
  readonly connections: number
  /** Stops listening and sends GOAWAY to every agent, which then reconnects elsewhere. */
  close(): Promise<void>
}

/** Creates the gateway; `listen` starts it. */
export function createAgentGateway(options: AgentGatewayOptions): AgentGateway {
  const limits = { ...LIMITS, ...options.limits }
  const clock = options.clock ?? systemClock
  const pool = options.pool ?? createLinkPool(64)
  const windows = options.windows ?? new WindowBudget()
  const admission = new Admission({
    total: limits.unauthenticated,
    perHolder: limits.unauthenticatedPerClient,
    isShared: options.isShared,
  })
  const budgets = new ByteBudgets({ ...limits.messageBytes, isShared: options.isShared })
  const throttle = new AuthThrottle(clock, options.authThrottle ?? AGENT_AUTH_THROTTLE)
  const authenticated = new Admission({ total: Number.POSITIVE_INFINITY })
  const pendingHandshakes = new Set<TLSSocket>()
  const connections = new Set<AgentConnection>()
  const server: Server = createServer({ noDelay: true }, accept)
  server.on('error', (error) => options.log.error({ err: error }, 'agent listener failed'))

  function accept(raw: Socket): void {
    if (options.proxyProtocol !== undefined) {
      options.proxyProtocol.read(raw, (ends) => admit(raw, ends))
      return
    }
    const ends = readEnds(raw)
    if (ends === undefined) raw.destroy()
    else admit(raw, ends)
  }

  function admit(raw: Socket, ends: SocketEnds): void {
    const ip = ends.remoteAddress
    // Agents that share an address with a failing client must still get in, if slowly.
    const blocked = throttle.isBlocked(ip) && !authenticated.has(clientKey(ip))
    const release = blocked ? undefined : admission.acquireForClient(ip)
    raw.on('error', () => {})
    const fallback = options.secureContext()
    if (release === undefined || fallback === undefined) {
      release?.()
      raw.destroy()
      return
    }
    const socket = startTls(raw, fallback)
    const deadline = setTimeout(() => socket.destroy(), limits.handshakeTimeoutMs)
    pendingHandshakes.add(socket)
    socket.once('secure', () => {
      clearTimeout(deadline)
      pendingHandshakes.delete(socket)
      serve(socket, ends, release)
    })
    socket.on('error', (error) => options.log.debug({ err: error, ip }, 'agent connection failed'))
    socket.once('close', () => {
      clearTimeout(deadline)
      pendingHandshakes.delete(socket)
      release()
    })
  }

  function startTls(raw: Socket, secureContext: SecureContext): TLSSocket {
    return new TLSSocket(raw, {
      isServer: true,
      secureContext,
      SNICallback(serverName, callback) {
        const named = options.namedContext?.(serverName.toLowerCase()) ?? Promise.resolve(undefined)
        // An error thrown from this callback would end the process.
        named.then(
          (context) => callback(null, context ?? secureContext),
          (error: Error) => callback(error),
        )
      },
    })
  }

  function serve(
    socket: TLSSocket,
    { remoteAddress: ip, localAddress: serverIp }: SocketEnds,
    releaseAdmission: () => void,
  ): void {
    const serverName = (socket as { servername?: string | false | null }).servername || undefined
    let releaseAuthenticated: (() => void) | undefined
    const connection = new AgentConnection(socket, ip, {
      ...options,
      serverName,
      serverIp,
      clock,
      pool,
      windows,
      budget: budgets.forClient(ip),
      authDelayMs: () => (throttle.isBlocked(ip) ? limits.authDelayMs : 0),
      onAuthFailure: () => throttle.recordFailure(ip),
      admitSession(accountId) {
        const release = options.sessions.acquire(accountId)
        // Held until the file descriptor is free, whatever happens to the session.
        if (release !== undefined) socket.once('close', release)
        return release !== undefined
      },
      onAuthenticated() {
        clearTimeout(deadline)
        releaseAdmission()
        releaseAuthenticated = authenticated.acquireForClient(ip)
      },
      onClose() {
        clearTimeout(deadline)
        releaseAuthenticated?.()
        connections.delete(connection)
      },
    })
    connections.add(connection)
    const deadline = setTimeout(
      () => connection.end(`Not authenticated within ${limits.authTimeoutMs} ms.`),
      limits.authTimeoutMs,
    )
  }

  return {
    get connections() {
      return connections.size
    },
    async listen(port, host) {
      server.listen(port, host)
      await once(server, 'listening')
      return server.address() as AddressInfo
    },
    async close() {
      const closed = server.listening ? once(server, 'close') : undefined
      if (server.listening) server.close()
      options.proxyProtocol?.close()
      fanOut(
        [...connections],
        (connection) => connection.end('The server is shutting down.'),
        (err) => options.log.error({ err }, 'agent connection failed'),
      )
      for (const socket of pendingHandshakes) socket.destroy()
      await closed
    },
  }
}

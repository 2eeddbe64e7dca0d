import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { Admission } from '../base/admission.ts'
import { sourceOf } from '../base/client-key.ts'
import { systemClock } from '../base/clock.ts'
import { fanOut } from '../base/fan-out.ts'
import type { BufferPool } from '../base/io/buffer-pool.ts'
import { ByteBudgets, type ByteLimits } from '../base/io/byte-budget.ts'
import { readEnds, type SocketEnds } from '../base/io/socket-ends.ts'
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
    | 'budget'
    | 'serverName'
    | 'serverIp'
  > {
  /** The certificate for agents that dialled an address, or a name nobody has one for. */
  secureContext(): SecureContext | undefined
  /** The certificate for a server name; undefined when there is none of its own. */
  namedContext?(serverName: string): Promise<SecureContext | undefined>
  clock?: AgentConnectionOptions['clock']
  pool?: BufferPool
  /** The places of all sessions that are logged in, held by accounts; the SSH gateway has the same. */
  sessions: Admission
  limits?: Partial<GatewayLimits>
  /** Addresses that many agents come from, as those of a load balancer. */
  isShared?: ((ip: string) => boolean) | undefined
  authThrottle?: AuthThrottleSettings
}

/** What connections may take before they are known. */
export interface GatewayLimits {
  handshakeTimeoutMs: number
  authTimeoutMs: number
  unauthenticatedPerClient: number
  unauthenticated: number
  /** How long each login takes from where others keep failing, though agents are connected from there. */
  authDelayMs: number
  /** What unfinished messages may take. */
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

/** Where agents connect. */
export interface AgentGateway {
  listen(port: number, host: string): Promise<AddressInfo>
  /** Agents connected now, known or not. */
  readonly connections: number
  /** Stops listening and says goodbye to every agent; they come back to whoever listens next. */
  close(): Promise<void>
}

/** Starts nothing by itself: call `listen`. */
export function createAgentGateway(options: AgentGatewayOptions): AgentGateway {
  const limits = { ...LIMITS, ...options.limits }
  const clock = options.clock ?? systemClock
  const pool = options.pool ?? createLinkPool(64)
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
    const ends = readEnds(raw)
    if (ends === undefined) {
      raw.destroy()
      return
    }
    const ip = ends.remoteAddress
    // Agents behind the address of one that keeps failing must get in, if only slowly.
    const blocked = throttle.isBlocked(ip) && !authenticated.has(sourceOf(ip))
    const release = blocked ? undefined : admission.takeSource(ip)
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
        // Thrown from here, an error would end the process.
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
      budget: budgets.of(ip),
      authDelayMs: () => (throttle.isBlocked(ip) ? limits.authDelayMs : 0),
      onAuthFailure: () => throttle.recordFailure(ip),
      admitSession(accountId) {
        const release = options.sessions.take(accountId)
        // Until its descriptor is free, whatever becomes of the session.
        if (release !== undefined) socket.once('close', release)
        return release !== undefined
      },
      onAuthenticated() {
        clearTimeout(deadline)
        releaseAdmission()
        releaseAuthenticated = authenticated.takeSource(ip)
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

import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type SecureContext, TLSSocket } from 'node:tls'
import type { BufferPool } from '../../base/io/memory/buffer-pool.ts'
import { ByteBudgets, type ByteLimits } from '../../base/io/memory/byte-budget.ts'
import { WindowBudget } from '../../base/io/memory/window-budget.ts'
import { ConcurrencyLimiter } from '../../base/io/sockets/concurrency-limiter.ts'
import type { SocketAddresses } from '../../base/io/sockets/socket-addresses.ts'
import { clientKey } from '../../base/values/client-key.ts'
import { systemClock } from '../../base/values/clock.ts'
import { createLinkPool } from '../../protocol/index.ts'
import { AgentConnection, type AgentConnectionOptions } from './agent-connection.ts'
import { AGENT_AUTH_THROTTLE, AuthThrottle, type AuthThrottleSettings } from './auth-throttle.ts'
import {
  type Gateway,
  GatewayListener,
  type GatewayOptions,
  type UnauthenticatedLimits,
} from './gateway-listener.ts'

export interface AgentGatewayOptions
  extends GatewayOptions,
    Omit<
      AgentConnectionOptions,
      | 'log'
      | 'authDelayMs'
      | 'onAuthFailure'
      | 'admitSession'
      | 'admitLeg'
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
  /** Slots for further legs by account: they are no sessions, but need descriptors too. */
  legs: ConcurrencyLimiter
  clock?: AgentConnectionOptions['clock']
  pool?: BufferPool
  windows?: WindowBudget
  limits?: Partial<GatewayLimits>
  authThrottle?: AuthThrottleSettings
}

/** Limits of unauthenticated connections. */
export interface GatewayLimits extends UnauthenticatedLimits {
  handshakeTimeoutMs: number
  authTimeoutMs: number
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

/** How many agents are asked to move at once, so that other nodes are not flooded. */
const MAX_MOVING = 256

/** The gateway for agents. */
export interface AgentGateway extends Gateway {
  /** Serves a connection that another listener has accepted. */
  accept(socket: Socket): void
  /** Tells the agents that the addresses of the platform have changed. */
  announceAddresses(): void
  /** Asks the agents whose sessions began here to start their next ones elsewhere, and waits for them up to the limit. */
  moveAgents(addresses: readonly string[], limitMs: number): Promise<void>
}

/** Creates the gateway for agents, which serves what `listen` and `accept` give it. */
export function createAgentGateway(options: AgentGatewayOptions): AgentGateway {
  const limits = { ...LIMITS, ...options.limits }
  const clock = options.clock ?? systemClock
  const pool = options.pool ?? createLinkPool(64)
  const windows = options.windows ?? new WindowBudget()
  const budgets = new ByteBudgets({ ...limits.messageBytes, isShared: options.isShared })
  const throttle = new AuthThrottle(clock, options.authThrottle ?? AGENT_AUTH_THROTTLE)
  const authenticated = new ConcurrencyLimiter({ total: Number.POSITIVE_INFINITY })
  const pendingHandshakes = new Set<TLSSocket>()
  const listener = new GatewayListener<AgentConnection>({ ...options, name: 'agent' }, limits, admit)

  function admit(raw: Socket, addresses: SocketAddresses): void {
    const ip = addresses.remoteAddress
    // Agents that share an address with a failing client must still get in, if slowly.
    const blocked = throttle.isBlocked(ip) && !authenticated.has(clientKey(ip))
    const release = blocked ? undefined : listener.acquire(ip)
    raw.on('error', () => {})
    const fallback = options.secureContext()
    if (release === undefined || fallback === undefined) {
      release?.()
      raw.destroy()
      return
    }
    const socket = startTls(raw, fallback, options)
    const deadline = setTimeout(() => socket.destroy(), limits.handshakeTimeoutMs)
    pendingHandshakes.add(socket)
    socket.once('secure', () => {
      clearTimeout(deadline)
      pendingHandshakes.delete(socket)
      serve(socket, addresses, release)
    })
    socket.on('error', (error) => options.log.debug({ err: error, ip }, 'agent connection failed'))
    socket.once('close', () => {
      clearTimeout(deadline)
      pendingHandshakes.delete(socket)
      release()
    })
  }

  function serve(
    socket: TLSSocket,
    { remoteAddress: ip, localAddress: serverIp }: SocketAddresses,
    releaseSlot: () => void,
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
      onAuthFailure() {
        throttle.recordFailure(ip)
        options.reportAuthFailure?.(ip)
      },
      admitSession: (accountId) => options.sessions.acquireUntilClosed(accountId, socket),
      admitLeg: (accountId) => options.legs.acquireUntilClosed(accountId, socket),
      onAuthenticated() {
        clearTimeout(deadline)
        releaseSlot()
        releaseAuthenticated = authenticated.acquireForClient(ip)
      },
      onClose() {
        clearTimeout(deadline)
        releaseAuthenticated?.()
        listener.connections.delete(connection)
      },
    })
    listener.connections.add(connection)
    const deadline = setTimeout(
      () => connection.end(`Not authenticated within ${limits.authTimeoutMs} ms.`),
      limits.authTimeoutMs,
    )
  }

  return {
    get connections() {
      return listener.connections.size
    },
    listen: (port, host) => listener.listen(port, host),
    accept: (socket) => listener.accept(socket),
    sharedCounts: { 'agent unauthenticated': listener.unauthenticated, 'agent authenticated': authenticated },
    recordAuthFailure: (ip) => throttle.recordFailure(ip),
    announceAddresses: () => listener.visitAll((connection) => connection.announceAddresses()),
    async moveAgents(addresses, limitMs) {
      const waiting = [...listener.connections]
      const limit = delay(limitMs, undefined, { ref: false }).then(() => waiting.splice(0))
      const moveNext = async () => {
        for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await next.move(addresses)
      }
      await Promise.race([limit, Promise.all(Array.from({ length: MAX_MOVING }, moveNext))])
    },
    close: () =>
      listener.close(() => {
        for (const socket of pendingHandshakes) socket.destroy()
      }),
  }
}

function startTls(
  raw: Socket,
  fallback: SecureContext,
  options: Pick<AgentGatewayOptions, 'namedContext'>,
): TLSSocket {
  return new TLSSocket(raw, {
    isServer: true,
    secureContext: fallback,
    SNICallback(serverName, callback) {
      const named = options.namedContext?.(serverName.toLowerCase()) ?? Promise.resolve(undefined)
      // An error thrown from this callback would end the process.
      named.then(
        (context) => callback(null, context ?? fallback),
        (error: Error) => callback(error),
      )
    },
  })
}

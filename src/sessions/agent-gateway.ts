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
import { AGENT_PENALTIES, Penalties, type PenaltySettings } from './auth-throttle.ts'

export interface AgentGatewayOptions
  extends Omit<
    AgentConnectionOptions,
    | 'holdBackMs'
    | 'onUnknown'
    | 'takePlace'
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
  penalties?: PenaltySettings
}

/** What connections may take before they are known. */
export interface GatewayLimits {
  handshakeMs: number
  authenticateMs: number
  unauthenticatedPerSource: number
  unauthenticated: number
  /** How long each login takes from where others keep failing, though agents are connected from there. */
  holdBackMs: number
  /** What unfinished messages may take. */
  held: ByteLimits
}

const LIMITS: GatewayLimits = {
  handshakeMs: 10_000,
  authenticateMs: 10_000,
  unauthenticatedPerSource: 100,
  unauthenticated: 2000,
  holdBackMs: 1000,
  held: { perConnection: 1024 * 1024, perSource: 16 * 1024 * 1024, total: 64 * 1024 * 1024 },
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
    perHolder: limits.unauthenticatedPerSource,
    isShared: options.isShared,
  })
  const budgets = new ByteBudgets({ ...limits.held, isShared: options.isShared })
  const penalties = new Penalties(clock, options.penalties ?? AGENT_PENALTIES)
  const known = new Admission({ total: Number.POSITIVE_INFINITY })
  const handshaking = new Set<TLSSocket>()
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
    const refused = penalties.refuses(ip) && !known.has(sourceOf(ip))
    const leave = refused ? undefined : admission.takeSource(ip)
    raw.on('error', () => {})
    const fallback = options.secureContext()
    if (leave === undefined || fallback === undefined) {
      leave?.()
      raw.destroy()
      return
    }
    const socket = secure(raw, fallback)
    const late = setTimeout(() => socket.destroy(), limits.handshakeMs)
    handshaking.add(socket)
    socket.once('secure', () => {
      clearTimeout(late)
      handshaking.delete(socket)
      serve(socket, ends, leave)
    })
    socket.on('error', (error) => options.log.debug({ err: error, ip }, 'agent connection failed'))
    socket.once('close', () => {
      clearTimeout(late)
      handshaking.delete(socket)
      leave()
    })
  }

  function secure(raw: Socket, secureContext: SecureContext): TLSSocket {
    return new TLSSocket(raw, {
      isServer: true,
      secureContext,
      SNICallback(serverName, answer) {
        const named = options.namedContext?.(serverName.toLowerCase()) ?? Promise.resolve(undefined)
        // Thrown from here, an error would end the process.
        named.then(
          (context) => answer(null, context ?? secureContext),
          (error: Error) => answer(error),
        )
      },
    })
  }

  function serve(
    socket: TLSSocket,
    { remoteAddress: ip, localAddress: serverIp }: SocketEnds,
    leave: () => void,
  ): void {
    const serverName = (socket as { servername?: string | false | null }).servername || undefined
    let gone: (() => void) | undefined
    const connection = new AgentConnection(socket, ip, {
      ...options,
      serverName,
      serverIp,
      clock,
      pool,
      budget: budgets.of(ip),
      holdBackMs: () => (penalties.refuses(ip) ? limits.holdBackMs : 0),
      onUnknown: () => penalties.failed(ip),
      takePlace(accountId) {
        const release = options.sessions.take(accountId)
        // Until its descriptor is free, whatever becomes of the session.
        if (release !== undefined) socket.once('close', release)
        return release !== undefined
      },
      onAuthenticated() {
        clearTimeout(late)
        leave()
        gone = known.takeSource(ip)
      },
      onClose() {
        clearTimeout(late)
        gone?.()
        connections.delete(connection)
      },
    })
    connections.add(connection)
    const late = setTimeout(
      () => connection.end(`Not authenticated within ${limits.authenticateMs} ms.`),
      limits.authenticateMs,
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
      for (const socket of handshaking) socket.destroy()
      await closed
    },
  }
}

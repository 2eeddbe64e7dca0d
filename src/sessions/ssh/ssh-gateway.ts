import type { Socket } from 'node:net'
import { WindowBudget } from '../../base/io/memory/window-budget.ts'
import type { SocketAddresses } from '../../base/io/sockets/socket-addresses.ts'
import { systemClock } from '../../base/values/clock.ts'
import { AuthThrottle, type AuthThrottleSettings, SSH_AUTH_THROTTLE } from '../gateway/auth-throttle.ts'
import {
  type Gateway,
  GatewayListener,
  type GatewayOptions,
  type UnauthenticatedLimits,
} from '../gateway/gateway-listener.ts'
import { SshConnection, type SshConnectionOptions } from './ssh-connection.ts'

export interface SshGatewayOptions
  extends GatewayOptions,
    Omit<SshConnectionOptions, 'admitSession' | 'onAuthenticated' | 'onClose' | 'clock' | 'windows' | 'log'> {
  clock?: SshConnectionOptions['clock']
  windows?: WindowBudget
  limits?: Partial<SshLimits>
  authThrottle?: AuthThrottleSettings
}

/** Limits of SSH clients before login (P50), and keepalive (P14). */
export interface SshLimits extends UnauthenticatedLimits {
  loginTimeoutMs: number
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

/** Creates the gateway for SSH clients; `listen` starts it. */
export function createSshGateway(options: SshGatewayOptions): Gateway {
  const limits = { ...LIMITS, ...options.limits }
  const clock = options.clock ?? systemClock
  const windows = options.windows ?? new WindowBudget()
  const throttle = new AuthThrottle(clock, options.authThrottle ?? SSH_AUTH_THROTTLE)
  const listener = new GatewayListener<SshConnection>({ ...options, name: 'ssh' }, limits, admit)
  let ticker: NodeJS.Timeout | undefined

  function admit(socket: Socket, addresses: SocketAddresses): void {
    const ip = addresses.remoteAddress
    socket.on('error', () => {})
    const release = throttle.isBlocked(ip) ? undefined : listener.acquire(ip)
    if (release === undefined) {
      socket.destroy()
      return
    }
    const deadline = setTimeout(() => socket.destroy(), limits.loginTimeoutMs)
    const connection = new SshConnection(socket, addresses, {
      ...options,
      clock,
      windows,
      admitSession: (accountId) => options.sessions.acquireUntilClosed(accountId, socket),
      onAuthenticated() {
        clearTimeout(deadline)
        release()
      },
      onClose() {
        clearTimeout(deadline)
        release()
        listener.connections.delete(connection)
        if (!connection.failedLogin) return
        throttle.recordFailure(ip)
        options.reportAuthFailure?.(ip)
      },
    })
    listener.connections.add(connection)
  }

  /** One timer for all connections. A stall of this process counts as one tick, so it ends no connection. */
  function tick(): void {
    const deadAfter = Math.floor((limits.silenceTimeoutMs / limits.keepaliveIntervalMs) * TICKS_PER_KEEPALIVE)
    listener.visitAll((connection) => connection.tick(TICKS_PER_KEEPALIVE, deadAfter))
  }

  return {
    get connections() {
      return listener.connections.size
    },
    async listen(port, host) {
      const address = await listener.listen(port, host)
      ticker = setInterval(tick, limits.keepaliveIntervalMs / TICKS_PER_KEEPALIVE)
      ticker.unref()
      return address
    },
    sharedCounts: { 'ssh unauthenticated': listener.unauthenticated },
    recordAuthFailure: (ip) => throttle.recordFailure(ip),
    async close() {
      clearInterval(ticker)
      await listener.close()
    },
  }
}

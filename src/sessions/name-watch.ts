import type { Logger } from '../base/log.ts'
import { type Reservations, requireAvailableAddress, requireAvailableName } from '../naming/index.ts'
import { ProtocolError } from '../protocol/index.ts'
import type { LiveTunnel } from './live-tunnel.ts'
import type { LiveEvent, Registry } from './registry.ts'

export interface NameWatchOptions {
  registry: Registry
  reservations: Reservations
  log: Logger
  /** Delay of a second check, for tunnels that were being bound during the first. */
  recheckMs?: number
}

/** Removes tunnels whose name was free when bound and now belongs to an edge or another account. */
export interface NameWatch {
  onLiveEvent(event: LiveEvent): void
  /** Names (`host` or `*.host`) and addresses (`host:port`) that were reserved or assigned to an edge. */
  onReserved(names: readonly string[]): void
  stop(): void
}

const RECHECK_DELAY_MS = 1000

export function createNameWatch(options: NameWatchOptions): NameWatch {
  const { registry, log, recheckMs = RECHECK_DELAY_MS } = options
  const reservations = options.reservations
  const online = new Map<string, Set<LiveTunnel>>()
  const timers = new Set<NodeJS.Timeout>()

  function* tunnelsAt(name: string): Iterable<LiveTunnel> {
    if (!name.startsWith('*.')) {
      yield* online.get(name) ?? []
      return
    }
    for (const [host, tunnels] of online) if (host.endsWith(name.slice(1))) yield* tunnels
  }

  /** The error that a bind of the tunnel would raise now, if any. */
  async function findConflict({
    accountId,
    proto,
    host,
    hostport,
  }: LiveTunnel): Promise<ProtocolError | undefined> {
    try {
      if (host !== undefined) await requireAvailableName(reservations, accountId, host)
      else if (proto === 'tcp' && hostport !== undefined) {
        const colon = hostport.lastIndexOf(':')
        await requireAvailableAddress(
          reservations,
          accountId,
          hostport.slice(0, colon),
          Number(hostport.slice(colon + 1)),
        )
      }
      return undefined
    } catch (error) {
      if (error instanceof ProtocolError) return error
      throw error
    }
  }

  async function check(tunnel: LiveTunnel): Promise<void> {
    const conflict = await findConflict(tunnel)
    if (conflict === undefined || !registry.tunnelsIn(tunnel.session).includes(tunnel)) return
    registry.unbind(tunnel.session, tunnel.bindId)
    tunnel.session.tunnelEnded(tunnel, conflict.message)
  }

  function checkTunnels(names: readonly string[]): void {
    for (const tunnel of new Set(names.flatMap((name) => [...tunnelsAt(name)])))
      check(tunnel).catch((error: unknown) =>
        log.warn({ err: error, url: tunnel.url }, 'tunnel name check failed'),
      )
  }

  return {
    onLiveEvent(event) {
      if (event.what !== 'tunnel_started' && event.what !== 'tunnel_stopped') return
      const { tunnel } = event
      const name = tunnel.host ?? tunnel.hostport
      if (name === undefined) return
      const tunnels = online.get(name) ?? new Set()
      if (event.what === 'tunnel_started') online.set(name, tunnels.add(tunnel))
      else if (tunnels.delete(tunnel) && tunnels.size === 0) online.delete(name)
    },

    onReserved(claimed) {
      checkTunnels(claimed)
      const timer = setTimeout(() => {
        timers.delete(timer)
        checkTunnels(claimed)
      }, recheckMs)
      timer.unref()
      timers.add(timer)
    },

    stop() {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

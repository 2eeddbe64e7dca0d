import type { Logger } from '../base/process/log.ts'
import { ProtocolError } from '../protocol/index.ts'
import type { EndpointAddress } from './address.ts'
import { requireAvailableAddress, requireAvailableName } from './availability.ts'
import type { Reservations } from './reservations.ts'

/** A tunnel of an account; one without a protocol has no public address. */
export interface NamedTunnel {
  readonly accountId: string
  readonly address: EndpointAddress | { readonly proto?: undefined }
}

export interface NameWatchOptions<T extends NamedTunnel> {
  reservations: Reservations
  /** Removes the tunnel, unless it has ended already, and notifies its agent. */
  evict(tunnel: T, reason: string): void
  log: Logger
  /** Delay of a second check, for tunnels that were being bound during the first. */
  recheckMs?: number
}

/** Removes tunnels whose name was free when bound and now belongs to an edge or another account. */
export interface NameWatch<T extends NamedTunnel> {
  /** The tunnel is online from now on. */
  add(tunnel: T): void
  remove(tunnel: T): void
  /** Names (`host` or `*.host`) and addresses (`host:port`) that were reserved or assigned to an edge. */
  onReserved(names: readonly string[]): void
  stop(): void
}

const RECHECK_DELAY_MS = 1000

export function createNameWatch<T extends NamedTunnel>(options: NameWatchOptions<T>): NameWatch<T> {
  const { reservations, log, recheckMs = RECHECK_DELAY_MS } = options
  const online = new Map<string, Set<T>>()
  const timers = new Set<NodeJS.Timeout>()

  function* tunnelsAt(name: string): Iterable<T> {
    if (!name.startsWith('*.')) {
      yield* online.get(name) ?? []
      return
    }
    for (const [host, tunnels] of online) if (host.endsWith(name.slice(1))) yield* tunnels
  }

  /** The error that a bind of the tunnel would raise now, if any. */
  async function findConflict({ accountId, address }: T) {
    try {
      if (address.proto === 'tcp')
        await requireAvailableAddress(reservations, accountId, address.host, address.port)
      else if (address.proto !== undefined) await requireAvailableName(reservations, accountId, address.host)
      return undefined
    } catch (error) {
      if (error instanceof ProtocolError) return error
      throw error
    }
  }

  async function check(tunnel: T): Promise<void> {
    const conflict = await findConflict(tunnel)
    if (conflict !== undefined) options.evict(tunnel, conflict.message)
  }

  function checkTunnels(names: readonly string[]): void {
    for (const tunnel of new Set(names.flatMap((name) => [...tunnelsAt(name)])))
      check(tunnel).catch((error: unknown) =>
        log.warn({ err: error, name: nameOf(tunnel) }, 'tunnel name check failed'),
      )
  }

  return {
    add(tunnel) {
      const name = nameOf(tunnel)
      if (name !== undefined) online.set(name, (online.get(name) ?? new Set()).add(tunnel))
    },

    remove(tunnel) {
      const name = nameOf(tunnel)
      if (name === undefined) return
      const tunnels = online.get(name)
      if (tunnels?.delete(tunnel) && tunnels.size === 0) online.delete(name)
    },

    onReserved(names) {
      checkTunnels(names)
      const timer = setTimeout(() => {
        timers.delete(timer)
        checkTunnels(names)
      }, recheckMs)
      timer.unref()
      timers.add(timer)
    },

    stop() {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

/** The public name or address the tunnel is bound at, if it has one. */
function nameOf({ address }: NamedTunnel): string | undefined {
  if (address.proto === undefined || address.internalTo !== undefined) return undefined
  return address.proto === 'tcp' ? address.hostport : address.host
}

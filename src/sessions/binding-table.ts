import type { LiveTunnel } from './live-tunnel.ts'

/** Where a tunnel can be reached: one public name on one listener, or one public port. */
export type SeatKey = string

/** The seat a spec or tunnel wants; undefined for labelled tunnels, which have none. https and tls share a listener. */
export function seatKey(wanted: Partial<Pick<LiveTunnel, 'proto' | 'host' | 'port'>>): SeatKey | undefined {
  if (wanted.proto === undefined) return undefined
  if (wanted.proto === 'tcp') return `tcp/${wanted.port}`
  return `${wanted.proto === 'http' ? 'http' : 'https'}/${wanted.host}`
}

/** The tunnels at one public address: one, or several that pool and take turns. */
class Seat {
  tunnels: readonly LiveTunnel[] = []
  #turn = 0

  next(): LiveTunnel | undefined {
    const { tunnels } = this
    if (tunnels.length < 2) return tunnels[0]
    this.#turn = (this.#turn + 1) % tunnels.length
    return tunnels[this.#turn]
  }
}

/** All public addresses that are taken. */
export class Seats {
  readonly #seats = new Map<SeatKey, Seat>()

  at(key: SeatKey): readonly LiveTunnel[] {
    return this.#seats.get(key)?.tunnels ?? []
  }

  set(key: SeatKey, tunnels: readonly LiveTunnel[]): void {
    if (tunnels.length === 0) {
      this.#seats.delete(key)
      return
    }
    const seat = this.#seats.get(key) ?? new Seat()
    seat.tunnels = tunnels
    this.#seats.set(key, seat)
  }

  /** The exact name, else the most specific wildcard. */
  byHost(listener: 'http' | 'https', host: string): LiveTunnel | undefined {
    const exact = this.#seats.get(`${listener}/${host}`)
    if (exact !== undefined) return exact.next()
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const wildcard = this.#seats.get(`${listener}/*${host.slice(dot)}`)
      if (wildcard !== undefined) return wildcard.next()
    }
    return undefined
  }

  byPort(port: number): LiveTunnel | undefined {
    return this.#seats.get(`tcp/${port}`)?.next()
  }
}

import type { LiveTunnel } from './live-tunnel.ts'

/** Where a tunnel can be reached: one public name on one listener, or one public port. */
export type BindingKey = string

/** The seat a spec or tunnel wants; undefined for labelled tunnels, which have none. https and tls share a listener. */
export function bindingKey(
  address: Partial<Pick<LiveTunnel, 'proto' | 'host' | 'port'>>,
): BindingKey | undefined {
  if (address.proto === undefined) return undefined
  if (address.proto === 'tcp') return `tcp/${address.port}`
  return `${address.proto === 'http' ? 'http' : 'https'}/${address.host}`
}

/** The tunnels at one public address: one, or several that pool and take turns. */
class BindingEntry {
  tunnels: readonly LiveTunnel[] = []
  #cursor = 0

  nextTunnel(): LiveTunnel | undefined {
    const { tunnels } = this
    if (tunnels.length < 2) return tunnels[0]
    this.#cursor = (this.#cursor + 1) % tunnels.length
    return tunnels[this.#cursor]
  }
}

/** All public addresses that are taken. */
export class BindingTable {
  readonly #entries = new Map<BindingKey, BindingEntry>()

  get(key: BindingKey): readonly LiveTunnel[] {
    return this.#entries.get(key)?.tunnels ?? []
  }

  set(key: BindingKey, tunnels: readonly LiveTunnel[]): void {
    if (tunnels.length === 0) {
      this.#entries.delete(key)
      return
    }
    const entry = this.#entries.get(key) ?? new BindingEntry()
    entry.tunnels = tunnels
    this.#entries.set(key, entry)
  }

  /** The exact name, else the most specific wildcard. */
  findByHost(listener: 'http' | 'https', host: string): LiveTunnel | undefined {
    const exact = this.#entries.get(`${listener}/${host}`)
    if (exact !== undefined) return exact.nextTunnel()
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const wildcard = this.#entries.get(`${listener}/*${host.slice(dot)}`)
      if (wildcard !== undefined) return wildcard.nextTunnel()
    }
    return undefined
  }

  findByPort(port: number): LiveTunnel | undefined {
    return this.#entries.get(`tcp/${port}`)?.nextTunnel()
  }
}

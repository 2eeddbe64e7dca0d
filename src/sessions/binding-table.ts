import { NameIndex } from '../base/name-index.ts'
import type { LiveTunnel } from './live-tunnel.ts'

/** A public address: `<host>/<listener>`, the name first so that wildcards are found by it, or `tcp/<port>`. */
export type BindingKey = string

/** The key of a spec's or tunnel's address; undefined for labelled tunnels. https and tls share a listener. */
export function bindingKey(
  address: Partial<Pick<LiveTunnel, 'proto' | 'host' | 'port'>>,
): BindingKey | undefined {
  if (address.proto === undefined) return undefined
  if (address.proto === 'tcp') return `tcp/${address.port}`
  return `${address.host}/${address.proto === 'http' ? 'http' : 'https'}`
}

/** The tunnels bound at one address: one, or several pooled ones, selected round-robin. */
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

/** The tunnels bound at each public address. */
export class BindingTable {
  readonly #entries = new NameIndex<BindingEntry>()

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
    const key = `${host}/${listener}`
    const entry = this.#entries.getExact(key) ?? this.#entries.matchWildcard(key)?.value
    return entry?.nextTunnel()
  }

  findByPort(port: number): LiveTunnel | undefined {
    return this.#entries.getExact(`tcp/${port}`)?.nextTunnel()
  }
}

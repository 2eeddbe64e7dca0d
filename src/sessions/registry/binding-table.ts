import { NameIndex } from '../../base/values/name-index.ts'
import { pickWeighted, type WeightedCandidate } from '../../base/values/weighted-round-robin.ts'
import type { EndpointAddress } from '../../naming/index.ts'
import { LiveTunnel } from '../session/live-tunnel.ts'
import type { InternalAddress, Tunnel, TunnelPool } from '../tunnel.ts'

/**
 * An address: `<host>/<listener>`, the name first so that wildcards are found by it, or `tcp/<port>`. An internal one is
 * `<host>/<scheme>:<port>@<scope>`, which no look-up of public traffic finds.
 */
export type BindingKey = string

/** The key of an address. https and tls share a listener. */
export function bindingKey(address: EndpointAddress): BindingKey {
  if (address.internalTo !== undefined) return internalKey(address.internalTo, address)
  if (address.proto === 'tcp') return `tcp/${address.port}`
  return `${address.host}/${address.proto === 'http' ? 'http' : 'https'}`
}

const internalKey = (scope: string, { proto, host, port }: InternalAddress): BindingKey =>
  `${host}/${proto}:${port}@${scope}`

interface TunnelCandidate extends WeightedCandidate {
  readonly tunnel: Tunnel
}

/** The tunnels bound at one address: one, or several pooled ones, selected by weight. */
class BindingEntry implements TunnelPool {
  #tunnels: readonly Tunnel[] = []
  #candidates: readonly TunnelCandidate[] = []
  #current!: TunnelCandidate

  get tunnels(): readonly Tunnel[] {
    return this.#tunnels
  }

  /** Tunnels of weight 0 are on standby: they are picked only where no other tunnel is. */
  set tunnels(tunnels: readonly Tunnel[]) {
    this.#tunnels = tunnels
    const weighted = tunnels.filter(({ poolingWeight }) => poolingWeight > 0)
    this.#candidates =
      weighted.length > 0
        ? weighted.map((tunnel) => ({ tunnel, weight: tunnel.poolingWeight, credit: 0 }))
        : tunnels.map((tunnel) => ({ tunnel, weight: 1, credit: 0 }))
    if (tunnels.length > 0) this.#current = pickWeighted(this.#candidates)!
  }

  get current(): Tunnel {
    return this.#current.tunnel
  }

  next(): Tunnel {
    const { tunnel } = this.#current
    this.#current = pickWeighted(this.#candidates)!
    return tunnel
  }
}

/** The tunnels bound at each public address. */
export class BindingTable {
  readonly #entries = new NameIndex<BindingEntry>()

  /** The tunnels of agents at an address. */
  get(key: BindingKey): readonly LiveTunnel[] {
    return this.tunnelsAt(key).filter((tunnel) => tunnel instanceof LiveTunnel)
  }

  /** The cloud endpoints at an address. */
  cloudEndpoints(key: BindingKey): readonly Tunnel[] {
    return this.tunnelsAt(key).filter((tunnel) => !(tunnel instanceof LiveTunnel))
  }

  /** All tunnels at an address. */
  tunnelsAt(key: BindingKey): readonly Tunnel[] {
    return this.#entries.get(key)?.tunnels ?? []
  }

  add(key: BindingKey, tunnel: Tunnel): void {
    const entry = this.#entries.get(key) ?? new BindingEntry()
    entry.tunnels = [...entry.tunnels, tunnel]
    this.#entries.set(key, entry)
  }

  remove(key: BindingKey, tunnel: Tunnel): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    entry.tunnels = entry.tunnels.filter((other) => other !== tunnel)
    if (entry.tunnels.length === 0) this.#entries.delete(key)
  }

  /** Follows a change of the weights of tunnels at an address. */
  reweigh(key: BindingKey): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) entry.tunnels = [...entry.tunnels]
  }

  /** The tunnels of the exact name, else of the most specific wildcard. */
  atHost(listener: 'http' | 'https', host: string): TunnelPool | undefined {
    return this.#find(`${host}/${listener}`)
  }

  /** The tunnels at an address inside an account or in its Kubernetes clusters. */
  atInternal(scope: string, address: InternalAddress): TunnelPool | undefined {
    return this.#find(internalKey(scope, address))
  }

  atPort(port: number): TunnelPool | undefined {
    return this.#entries.getExact(`tcp/${port}`)
  }

  #find(key: BindingKey): TunnelPool | undefined {
    return this.#entries.getExact(key) ?? this.#entries.matchWildcard(key)?.value
  }
}

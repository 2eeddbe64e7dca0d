import { kubernetesScope } from '../../naming/index.ts'
import { LiveTunnel } from '../session/live-tunnel.ts'
import type { InternalAddress, Tunnel, TunnelLookup, TunnelPool } from '../tunnel.ts'
import { BindingTable, bindingKey } from './binding-table.ts'
import { LabelIndex } from './label-index.ts'

const listenerOf = (proto: 'http' | 'https' | 'tls') => (proto === 'http' ? 'http' : 'https')

/** The online tunnels by name, port and labels: written by the registry, read by the edge on every connection. */
export class TunnelDirectory implements TunnelLookup {
  readonly bindings = new BindingTable()
  readonly labels = new LabelIndex()
  readonly #isServing: () => boolean

  /** `isServing`: whether this node may serve its names; false after a process stall until their claims are verified. */
  constructor(isServing: () => boolean = () => true) {
    this.#isServing = isServing
  }

  add(tunnel: Tunnel): void {
    const { address } = tunnel
    if (address.proto !== undefined) this.bindings.add(bindingKey(address), tunnel)
    else if (tunnel instanceof LiveTunnel) this.labels.add(tunnel, address.labels)
  }

  remove(tunnel: Tunnel): void {
    const { address } = tunnel
    if (address.proto !== undefined) this.bindings.remove(bindingKey(address), tunnel)
    else if (tunnel instanceof LiveTunnel) this.labels.remove(tunnel, address.labels)
  }

  /** Follows a change of the tunnel's weight in its pool. */
  reweigh({ address }: Tunnel): void {
    if (address.proto !== undefined) this.bindings.reweigh(bindingKey(address))
  }

  atHost(proto: 'http' | 'https' | 'tls', host: string): TunnelPool | undefined {
    // All tunnels of a listener at one name have the same protocol.
    const pool = this.bindings.atHost(listenerOf(proto), host)
    return pool?.current.address.proto === proto ? this.#ifServing(pool) : undefined
  }

  atPort(port: number): TunnelPool | undefined {
    return this.#ifServing(this.bindings.atPort(port))
  }

  atInternal(accountId: string, address: InternalAddress): TunnelPool | undefined {
    return this.#ifServing(this.bindings.atInternal(accountId, address))
  }

  atBound(accountId: string, address: InternalAddress): TunnelPool | undefined {
    return this.atInternal(kubernetesScope(accountId), address)
  }

  poolOf({ address }: Tunnel): readonly Tunnel[] {
    if (address.proto === undefined) return []
    return this.bindings
      .tunnelsAt(bindingKey(address))
      .filter((tunnel) => this.#mayServe(tunnel))
      .toSorted((one, other) => other.poolingWeight - one.poolingWeight)
  }

  findLabelled(accountId: string, selector: Readonly<Record<string, string>>): readonly LiveTunnel[] {
    return this.labels.find(accountId, selector)
  }

  #ifServing(pool: TunnelPool | undefined): TunnelPool | undefined {
    return pool !== undefined && this.#mayServe(pool.current) ? pool : undefined
  }

  /** Tunnels of peer nodes are covered by the claims of those nodes; cloud endpoints need none. */
  #mayServe(tunnel: Tunnel): boolean {
    const isClaimedHere = tunnel instanceof LiveTunnel && !tunnel.session.remote
    return !isClaimedHere || this.#isServing()
  }
}

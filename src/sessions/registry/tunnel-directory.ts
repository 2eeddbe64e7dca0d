import { kubernetesScope } from '../../naming/index.ts'
import { LiveTunnel } from '../session/live-tunnel.ts'
import type { InternalAddress, Tunnel, TunnelLookup } from '../tunnel.ts'
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

  find(proto: 'http' | 'https' | 'tls', host: string): Tunnel | undefined {
    const tunnel = this.bindings.findByHost(listenerOf(proto), host)
    return tunnel?.address.proto === proto ? this.#ifServing(tunnel) : undefined
  }

  take(proto: 'http' | 'https' | 'tls', host: string): Tunnel | undefined {
    // All tunnels of a listener at one name have the same protocol, so this never advances another pool.
    return this.find(proto, host) === undefined
      ? undefined
      : this.bindings.takeByHost(listenerOf(proto), host)
  }

  takeTcp(port: number): Tunnel | undefined {
    return this.#ifServing(this.bindings.takeByPort(port))
  }

  takeInternal(accountId: string, address: InternalAddress): Tunnel | undefined {
    return this.#ifServing(this.bindings.takeInternal(accountId, address))
  }

  findBound(accountId: string, address: InternalAddress): Tunnel | undefined {
    return this.#ifServing(this.bindings.findInternal(kubernetesScope(accountId), address))
  }

  takeBound(accountId: string, address: InternalAddress): Tunnel | undefined {
    return this.takeInternal(kubernetesScope(accountId), address)
  }

  poolOf({ address }: Tunnel): readonly Tunnel[] {
    if (address.proto === undefined) return []
    return this.bindings
      .tunnelsAt(bindingKey(address))
      .filter((tunnel) => this.#ifServing(tunnel) !== undefined)
      .toSorted((one, other) => other.poolingWeight - one.poolingWeight)
  }

  findLabelled(accountId: string, selector: Readonly<Record<string, string>>): readonly LiveTunnel[] {
    return this.labels.find(accountId, selector)
  }

  /** Tunnels of peer nodes are covered by the claims of those nodes; cloud endpoints need none. */
  #ifServing(tunnel: Tunnel | undefined): Tunnel | undefined {
    const isClaimedHere = tunnel instanceof LiveTunnel && !tunnel.session.remote
    return isClaimedHere && !this.#isServing() ? undefined : tunnel
  }
}

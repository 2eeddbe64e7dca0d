import { connect } from 'node:net'
import { SocketStream } from '../../base/io/sockets/socket-stream.ts'
import { hostOf } from '../../base/values/hostport.ts'
import { newId } from '../../base/values/id.ts'
import { kubernetesScope } from '../../naming/index.ts'
import type {
  ClientInfo,
  EndpointOptions,
  InternalAddress,
  Tunnel,
  TunnelLookup,
  TunnelPool,
} from '../contracts/tunnels.ts'

/** A tunnel to a local port that records the clients it was opened for. */
export interface LocalTunnel extends Tunnel {
  readonly clients: ClientInfo[]
}

export interface LocalTunnelOptions extends Partial<Omit<Tunnel, 'address' | 'options' | 'open'>> {
  /** The protocol and public `host:port` of the tunnel. */
  proto?: ClientInfo['proto']
  hostport?: string
  /** Instead of them: the labels of a tunnel without an address. */
  labels?: Readonly<Record<string, string>>
  options?: Partial<EndpointOptions>
}

export function createLocalTunnel(
  port: number,
  { proto = 'http', hostport, labels, ...overrides }: LocalTunnelOptions = {},
): LocalTunnel {
  const clients: ClientInfo[] = []
  return {
    id: newId('tn'),
    accountId: 'ac_test',
    sessionId: newId('ts'),
    credentialId: 'cr_test',
    startedAt: 0,
    region: 'us',
    metadata: '',
    description: '',
    name: '',
    forwardsTo: `http://127.0.0.1:${port}`,
    forwardsProto: '',
    address: labels === undefined ? addressOf(proto, hostport) : { labels },
    poolingEnabled: false,
    poolingWeight: 1,
    ...overrides,
    options: { proxyProto: 0, ...overrides.options },
    clients,
    open(client) {
      clients.push(client)
      return new SocketStream(connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true }))
    },
  }
}

function addressOf(proto: ClientInfo['proto'], hostport = 'tunnel.adit.localhost:443'): Tunnel['address'] {
  const host = hostOf(hostport)
  return {
    proto,
    host,
    port: Number(hostport.slice(host.length + 1)),
    hostport,
    url: `${proto}://${hostport.replace(/:443$/, '')}`,
  }
}

/** The tunnels of a test, by name and port. */
export class TestTunnels implements TunnelLookup {
  readonly hosts = new Map<string, Tunnel>()
  readonly ports = new Map<number, Tunnel>()
  readonly tunnels: Tunnel[] = []

  add(host: string, tunnel: Tunnel): this {
    this.hosts.set(`${tunnel.address.proto} ${host}`, tunnel)
    return this
  }

  atHost(proto: 'http' | 'https' | 'tls', host: string): TunnelPool | undefined {
    return poolOf(this.#find(proto, host))
  }

  #find(proto: string, host: string): Tunnel | undefined {
    const exact = this.hosts.get(`${proto} ${host}`)
    if (exact !== undefined) return exact
    for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
      const wildcard = this.hosts.get(`${proto} *${host.slice(dot)}`)
      if (wildcard !== undefined) return wildcard
    }
    return undefined
  }

  atPort(port: number): TunnelPool | undefined {
    return poolOf(this.ports.get(port))
  }

  atInternal(accountId: string, { proto, host, port }: InternalAddress): TunnelPool | undefined {
    return poolOf(
      this.tunnels.find(
        ({ address }) =>
          address.internalTo === accountId &&
          address.proto === proto &&
          address.host === host &&
          address.port === port,
      ),
    )
  }

  atBound(accountId: string, address: InternalAddress): TunnelPool | undefined {
    return this.atInternal(kubernetesScope(accountId), address)
  }

  poolOf(tunnel: Tunnel): readonly Tunnel[] {
    const others = this.tunnels.filter(
      ({ address }) => address.proto === tunnel.address.proto && address.url === tunnel.address.url,
    )
    return [tunnel, ...others]
  }

  findLabelled(accountId: string, selector: Readonly<Record<string, string>>): readonly Tunnel[] {
    return this.tunnels.filter(
      (tunnel) =>
        tunnel.accountId === accountId &&
        Object.entries(selector).every(([key, value]) => tunnel.address.labels?.[key] === value),
    )
  }
}

const poolOf = (tunnel: Tunnel | undefined): TunnelPool | undefined =>
  tunnel && { current: tunnel, next: () => tunnel }

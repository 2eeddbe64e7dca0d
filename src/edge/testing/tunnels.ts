import { connect } from 'node:net'
import { newId } from '../../base/id.ts'
import { SocketStream } from '../../base/io/socket-stream.ts'
import type { ClientInfo, EndpointOptions, Tunnel, TunnelLookup } from '../tunnels.ts'

/** A tunnel to a local port that records the clients it was opened for. */
export interface LocalTunnel extends Tunnel {
  readonly clients: ClientInfo[]
}

export function createLocalTunnel(
  port: number,
  overrides: Partial<Omit<Tunnel, 'options' | 'open'>> & { options?: Partial<EndpointOptions> } = {},
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
    proto: 'http',
    url: undefined,
    hostport: undefined,
    labels: undefined,
    poolingEnabled: false,
    ...overrides,
    options: { proxyProto: 0, ...overrides.options },
    clients: clients,
    open(client) {
      clients.push(client)
      return new SocketStream(connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true }))
    },
  }
}

/** The tunnels of a test, by name and port. */
export class TestTunnels implements TunnelLookup {
  readonly hosts = new Map<string, Tunnel>()
  readonly ports = new Map<number, Tunnel>()
  readonly tunnels: Tunnel[] = []

  add(host: string, tunnel: Tunnel): this {
    this.hosts.set(`${tunnel.proto} ${host}`, tunnel)
    return this
  }

  find(proto: 'http' | 'https' | 'tls', host: string): Tunnel | undefined {
    const exact = this.hosts.get(`${proto} ${host}`)
    if (exact !== undefined) return exact
    for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
      const wildcard = this.hosts.get(`${proto} *${host.slice(dot)}`)
      if (wildcard !== undefined) return wildcard
    }
    return undefined
  }

  take(proto: 'http' | 'https' | 'tls', host: string): Tunnel | undefined {
    return this.find(proto, host)
  }

  takeTcp(port: number): Tunnel | undefined {
    return this.ports.get(port)
  }

  findLabelled(accountId: string, selector: Readonly<Record<string, string>>): readonly Tunnel[] {
    return this.tunnels.filter(
      (tunnel) =>
        tunnel.accountId === accountId &&
        Object.entries(selector).every(([key, value]) => tunnel.labels?.[key] === value),
    )
  }
}

import { joinHostPort } from '../base/hostport.ts'
import type { TunnelProto } from './tunnel.ts'

/** What the public sees of this server. */
export interface PublicAddress {
  /** The domain under which tunnels without a name of their own get one. */
  domain: string
  httpPort: number
  httpsPort: number
  /** The host in addresses of TCP tunnels. */
  tcpHost: string
}

const DEFAULT_PORTS: Record<TunnelProto, number | undefined> = {
  http: 80,
  https: 443,
  tls: 443,
  tcp: undefined,
}

/** The port visitors of a named tunnel connect to. */
export function publicPort(proto: 'http' | 'https' | 'tls', address: PublicAddress): number {
  return proto === 'http' ? address.httpPort : address.httpsPort
}

/** The public URL of a tunnel; the port is left out when it is the scheme's own. */
export function tunnelUrl(proto: TunnelProto, host: string, port: number): string {
  return `${proto}://${port === DEFAULT_PORTS[proto] ? host : joinHostPort(host, port)}`
}

import { joinHostPort } from '../base/hostport.ts'
import type { TunnelProto } from './tunnel.ts'

/** The public addresses of this server. */
export interface PublicAddress {
  /** The domain for random tunnel names. */
  domain: string
  httpPort: number
  httpsPort: number
  /** The host of TCP tunnel addresses. */
  tcpHost: string
}

const DEFAULT_PORTS: Record<TunnelProto, number | undefined> = {
  http: 80,
  https: 443,
  tls: 443,
  tcp: undefined,
}

/** The public port of a named tunnel. */
export function publicPort(proto: 'http' | 'https' | 'tls', address: PublicAddress): number {
  return proto === 'http' ? address.httpPort : address.httpsPort
}

/** The public URL of a tunnel, without the scheme's default port. */
export function tunnelUrl(proto: TunnelProto, host: string, port: number): string {
  return `${proto}://${port === DEFAULT_PORTS[proto] ? host : joinHostPort(host, port)}`
}

import { joinHostPort } from '../base/hostport.ts'
import { protocolError } from '../protocol/index.ts'
import type { TunnelProto } from './tunnel.ts'

/** The public addresses of this server. */
export interface PublicAddress {
  /** The domain for random tunnel names. */
  domain: string
  httpPort: number
  httpsPort: number
  /** Listeners that are switched off, each with the setting that does it. */
  disabled?: { readonly http?: string | undefined; readonly https?: string | undefined }
  /** The host of TCP tunnel addresses. */
  tcpHost: string
}

const DEFAULT_PORTS: Record<TunnelProto, number | undefined> = {
  http: 80,
  https: 443,
  tls: 443,
  tcp: undefined,
}

/** The public port of a named tunnel; throws if the listener is switched off. */
export function publicPort(proto: 'http' | 'https' | 'tls', address: PublicAddress): number {
  const { http, https } = address.disabled ?? {}
  const setting = proto === 'http' ? http : https
  if (setting !== undefined)
    throw protocolError(
      'options_invalid',
      `this server does not serve ${proto} (${setting}); use ${proto === 'http' ? 'https' : 'http or tcp'}, or ask its operator.`,
    )
  return proto === 'http' ? address.httpPort : address.httpsPort
}

/** The public URL of a tunnel, without the scheme's default port. */
export function tunnelUrl(proto: TunnelProto, host: string, port: number): string {
  return `${proto}://${port === DEFAULT_PORTS[proto] ? host : joinHostPort(host, port)}`
}

import { protocolError } from '../../protocol/index.ts'

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

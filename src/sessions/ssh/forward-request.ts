import { joinHostPort } from '../../base/values/hostport.ts'
import type { BindRequest, LabelRequest } from '../../protocol/index.ts'
import type { PublicAddress } from '../bind/public-address.ts'
import type { SshCommand } from './command-line.ts'
import type { ForwardTarget } from './transport/ssh2.ts'

/** The bind request of a forward: for a public address, or for labels. */
export type ForwardRequest =
  | { readonly kind: 'bind'; readonly request: BindRequest }
  | { readonly kind: 'labels'; readonly request: LabelRequest }

/** Bind addresses that request no particular host: what clients send for none or for all interfaces. */
const ANY_HOST = new Set(['', '*', 'localhost', '127.0.0.1', '::1', '0.0.0.0', '::'])

/** Converts `-R [host:]port:…` and the command to a bind request. */
export function toForwardRequest(
  target: ForwardTarget,
  command: SshCommand,
  address: PublicAddress,
): ForwardRequest {
  const ForwardsTo = command.forwardsTo || 'ssh'
  if (command.labels !== undefined) {
    const { labels, metadata } = command
    return { kind: 'labels', request: { Labels: { ...labels }, ForwardsTo, Metadata: metadata } }
  }
  const Proto = resolveProto(target, command, address)
  return {
    kind: 'bind',
    request: {
      Proto,
      ForwardsTo,
      Opts: { ...command.opts, ...toAddressOpts(Proto, target, address) },
      Extra: {
        Name: command.name,
        Description: command.description,
        Metadata: command.metadata,
        PoolingEnabled: command.pooling,
        PoolingWeight: command.poolingWeight,
      },
    },
  }
}

/** 80 and 443 mean the public HTTP and HTTPS ports whatever the server binds; the bound ports work as well. */
function resolveProto({ bindPort }: ForwardTarget, { proto }: SshCommand, address: PublicAddress): string {
  const plain = bindPort === 80 || bindPort === address.httpPort
  const secure = bindPort === 443 || bindPort === address.httpsPort
  if (proto === 'tls' || proto === 'tcp') return proto
  if (plain) return 'http'
  if (secure || proto === 'http') return 'https'
  return 'tcp'
}

/** The name or address in the forward; it overrides one in the command. */
function toAddressOpts(proto: string, { bindAddr, bindPort }: ForwardTarget, address: PublicAddress) {
  if (proto === 'tcp') {
    if (bindPort === 0) return {}
    const host = ANY_HOST.has(bindAddr) ? address.tcpHost : bindAddr
    return { Addr: joinHostPort(host, bindPort) }
  }
  if (ANY_HOST.has(bindAddr)) return {}
  return bindAddr.includes('.') ? { Domain: bindAddr } : { Subdomain: bindAddr }
}

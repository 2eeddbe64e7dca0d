import { DEFAULT_PORTS } from '../base/values/endpoint-url.ts'
import { joinHostPort } from '../base/values/hostport.ts'

/** The address of an endpoint: a host name on a listener that all share, or a TCP port of its own. */
export type EndpointAddress = NamedAddress | TcpAddress

interface AddressParts {
  readonly host: string
  readonly port: number
  readonly hostport: string
  readonly url: string
  /** The account inside which the address is reachable, or whose clusters it is in; undefined for a public one. */
  readonly internalTo?: string | undefined
  readonly labels?: undefined
}

export interface NamedAddress extends AddressParts {
  readonly proto: 'http' | 'https' | 'tls'
}

export interface TcpAddress extends AddressParts {
  readonly proto: 'tcp'
}

/** The address of a protocol, host and public port. Its URL omits the default port of the scheme. */
export function endpointAddress<P extends EndpointAddress['proto']>(
  proto: P,
  host: string,
  port: number,
): AddressParts & { readonly proto: P } {
  const url = `${proto}://${port === DEFAULT_PORTS[proto] ? host : joinHostPort(host, port)}`
  return { proto, host, port, hostport: `${host}:${port}`, url }
}

/** The address of an internal endpoint, which only traffic policies of its account reach. */
export function internalAddress(
  proto: EndpointAddress['proto'],
  host: string,
  port: number,
  accountId: string,
): EndpointAddress {
  return { ...endpointAddress(proto, host, port), internalTo: accountId }
}

/** What is before the account in the scope of an address in Kubernetes clusters, so that no other look-up finds it. */
const KUBERNETES_SCOPE = 'kubernetes@'

/** The scope of the addresses that an account has in Kubernetes clusters. */
export const kubernetesScope = (accountId: string): string => `${KUBERNETES_SCOPE}${accountId}`

/** The address of an endpoint that operators of the account offer in their Kubernetes clusters. */
export function kubernetesAddress(
  proto: EndpointAddress['proto'],
  host: string,
  port: number,
  accountId: string,
): EndpointAddress {
  return { ...endpointAddress(proto, host, port), internalTo: kubernetesScope(accountId) }
}

/** Where an address is reachable. */
export function bindingOf({
  internalTo,
}: Pick<EndpointAddress, 'internalTo'>): 'public' | 'internal' | 'kubernetes' {
  if (internalTo === undefined) return 'public'
  return internalTo.startsWith(KUBERNETES_SCOPE) ? 'kubernetes' : 'internal'
}

/** Whether an address is a public TCP port, which a listener of its own serves. */
export function isPublicPort(address: { readonly proto?: unknown; readonly internalTo?: unknown }): boolean {
  return address.proto === 'tcp' && address.internalTo === undefined
}

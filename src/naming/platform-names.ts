import { isWithin } from '../base/values/domain.ts'

/** The label at which Kubernetes clusters connect to the endpoints that are bound to them. */
export const BINDING_INGRESS_LABEL = 'kubernetes-bindings'

/**
 * Labels under the platform's domain that the platform serves itself: the API and the dashboard, login callbacks, agents,
 * Kubernetes clusters, TCP addresses, CNAME targets, ACME challenges and name servers. Nothing at or below them can be
 * reserved or bound.
 */
const PLATFORM_LABELS = [
  ...['api', 'dashboard', 'idp', 'connect', BINDING_INGRESS_LABEL, 'tcp', 'cname', 'acme-challenge'],
  ...['ns1', 'ns2', 'ns3', 'ns4'],
]

/**
 * Whether a name or wildcard belongs to the platform itself: its domain and every parent, whose owner would own all names
 * below, or one of the platform labels and every name below.
 */
export function isPlatformName(name: string, domain: string): boolean {
  const host = name.replace(/^\*\./, '')
  return isWithin(domain, host) || PLATFORM_LABELS.some((label) => isWithin(host, `${label}.${domain}`))
}

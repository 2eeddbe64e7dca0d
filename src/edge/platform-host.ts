import { createCounters, type HttpHost, type HttpRoute } from './contracts/table.ts'
import type { TlsPolicy } from './contracts/tls-policy.ts'
import { createAccountTraffic } from './stats/traffic.ts'

/** Creates a host of the platform itself, which belongs to no account and has one route. */
export function createPlatformHost(
  id: string,
  tlsPolicy: TlsPolicy,
  behaviour: Pick<HttpRoute, 'steps' | 'backend'>,
): HttpHost {
  const route: HttpRoute = { id, connectionSteps: undefined, ...behaviour, counters: createCounters() }
  return {
    kind: 'http',
    id,
    accountId: '',
    traffic: createAccountTraffic(),
    tlsPolicy,
    redirectToHttps: false,
    routeFor: () => route,
  }
}

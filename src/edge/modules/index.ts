/**
 * Route and edge modules: one file per module turns its settings into a step of one phase (connection, tls, request or
 * backend). `build` runs once per configuration change, the step it returns per connection or request. A module may use
 * the edge's contracts, `message` and what its `ModuleContext` (`context.ts`) resolves; it never sees other modules,
 * the listeners or the store. Begin with the `modules` list below. The `webhook-*` files hold the signature schemes of
 * webhook senders; sign-in modules delegate to `login` through the interface in `login.ts`.
 */

import type { HttpsEdge, HttpsRoute, StoredRecord, TcpEdge, TlsEdge } from '../../resources/index.ts'
import type { EdgeModule } from '../contracts/module.ts'
import { circuitBreaker } from './circuit-breaker.ts'
import { compression } from './compression.ts'
import type { ModuleContext } from './context.ts'
import { ipRestriction } from './ip-restriction.ts'
import { jwtValidation } from './jwt-validation.ts'
import { oauth, oidc, saml } from './login.ts'
import { mutualTls } from './mutual-tls.ts'
import { requestHeaders } from './request-headers.ts'
import { responseHeaders } from './response-headers.ts'
import { tlsTermination } from './tls-termination.ts'
import { userAgentFilter } from './user-agent-filter.ts'
import { webhookVerification } from './webhook-verification.ts'
import { websocketTcpConverter } from './websocket-tcp-converter.ts'

type ModulesOf<Record> = {
  [K in keyof Record as Record[K] extends { enabled: boolean } | null ? K : never]: NonNullable<Record[K]>
}

/** Every module of an edge or route, with its settings. Backends and policies are compiled apart, in `backends` and `policy`. */
type AllSettings = Omit<
  ModulesOf<StoredRecord<typeof HttpsRoute>> &
    ModulesOf<StoredRecord<typeof HttpsEdge>> &
    ModulesOf<StoredRecord<typeof TlsEdge>> &
    ModulesOf<StoredRecord<typeof TcpEdge>>,
  'backend' | 'traffic_policy'
>

export type ModuleName = keyof AllSettings

/**
 * The behaviour of every declared module, in the order in which traffic passes them: first admission, then edits, and last
 * the circuit breaker. A missing one does not compile.
 */
export const modules = {
  ip_restriction: ipRestriction,
  mutual_tls: mutualTls,
  tls_termination: tlsTermination,
  user_agent_filter: userAgentFilter,
  webhook_verification: webhookVerification,
  jwt_validation: jwtValidation,
  oauth,
  oidc,
  saml,
  compression,
  response_headers: responseHeaders,
  request_headers: requestHeaders,
  circuit_breaker: circuitBreaker,
  websocket_tcp_converter: websocketTcpConverter,
} satisfies { [N in ModuleName]: EdgeModule<AllSettings[N], ModuleContext> }

type RequestModule = {
  [N in ModuleName]: (typeof modules)[N]['phase'] extends 'request' ? N : never
}[ModuleName]

/** The modules that act on requests, in the order in which a request passes them. The response passes them in reverse. */
export const requestOrder = (Object.keys(modules) as ModuleName[]).filter(
  (name): name is RequestModule => modules[name].phase === 'request',
)

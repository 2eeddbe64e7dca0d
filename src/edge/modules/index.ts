import type { HttpsEdge, HttpsRoute, Stock, TcpEdge, TlsEdge } from '../../resources/index.ts'
import type { EdgeModule } from '../module.ts'
import { circuitBreaker } from './circuit-breaker.ts'
import { compression } from './compression.ts'
import type { ModuleContext } from './context.ts'
import { ipRestriction } from './ip-restriction.ts'
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

/** Every module some edge or route can have, with its settings. Backends are chosen apart, by `backends/`. */
type AllSettings = Omit<
  ModulesOf<Stock<typeof HttpsRoute>> &
    ModulesOf<Stock<typeof HttpsEdge>> &
    ModulesOf<Stock<typeof TlsEdge>> &
    ModulesOf<Stock<typeof TcpEdge>>,
  'backend'
>

export type ModuleName = keyof AllSettings

/** Behaviour for every shape: one that is declared and missing here does not compile. */
export const modules = {
  ip_restriction: ipRestriction,
  mutual_tls: mutualTls,
  tls_termination: tlsTermination,
  user_agent_filter: userAgentFilter,
  webhook_verification: webhookVerification,
  oauth,
  oidc,
  saml,
  compression,
  response_headers: responseHeaders,
  request_headers: requestHeaders,
  circuit_breaker: circuitBreaker,
  websocket_tcp_converter: websocketTcpConverter,
} satisfies { [N in ModuleName]: EdgeModule<AllSettings[N], ModuleContext> }

/**
 * The order in which a request passes the modules of its route. First who may come, then what is changed, and last
 * whether the upstream is well; on the way out the response passes them the other way round.
 */
export const requestOrder = [
  'user_agent_filter',
  'webhook_verification',
  'oauth',
  'oidc',
  'saml',
  'compression',
  'response_headers',
  'request_headers',
  'circuit_breaker',
] as const satisfies readonly ModuleName[]

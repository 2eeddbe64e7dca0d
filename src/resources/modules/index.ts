/**
 * The list of modules: what an HTTPS route can have, and what agents and SSH clients can set on their endpoints. A module
 * is declared in a file of its own; everything else follows from these two lists.
 */
import { BACKEND_PREFIXES, Backend } from './backend.ts'
import { BasicAuth } from './basic-auth.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import { Compression } from './compression.ts'
import { RequestHeaders, ResponseHeaders } from './headers.ts'
import { IpRestriction } from './ip-restriction.ts'
import { JwtValidation } from './jwt-validation.ts'
import { MutualTls } from './mutual-tls.ts'
import { OAUTH_PROVIDERS, Oauth } from './oauth.ts'
import { Oidc } from './oidc.ts'
import { Saml } from './saml.ts'
import { HttpsTlsTermination, TlsTermination } from './tls-termination.ts'
import { TrafficPolicy } from './traffic-policy.ts'
import { UserAgentFilter } from './user-agent-filter.ts'
import { WEBHOOK_PROVIDERS, WebhookVerification } from './webhook-verification.ts'
import { WebsocketTcpConverter } from './websocket-tcp-converter.ts'

/** The modules of an HTTPS route, in the order of the API documents. */
export const routeModules = {
  backend: Backend,
  ip_restriction: IpRestriction,
  circuit_breaker: CircuitBreaker,
  compression: Compression,
  request_headers: RequestHeaders,
  response_headers: ResponseHeaders,
  webhook_verification: WebhookVerification,
  oauth: Oauth,
  saml: Saml,
  oidc: Oidc,
  websocket_tcp_converter: WebsocketTcpConverter,
  user_agent_filter: UserAgentFilter,
  jwt_validation: JwtValidation,
  traffic_policy: TrafficPolicy,
} as const

/**
 * The modules of an endpoint configuration, in the order of the original's API and with its names. The declarations are
 * those of routes and edges.
 */
export const configurationModules = {
  basic_auth: BasicAuth,
  circuit_breaker: CircuitBreaker,
  compression: Compression,
  request_headers: RequestHeaders,
  response_headers: ResponseHeaders,
  ip_policy: IpRestriction,
  mutual_tls: MutualTls,
  tls_termination: HttpsTlsTermination,
  webhook_validation: WebhookVerification,
  oauth: Oauth,
  saml: Saml,
  oidc: Oidc,
  backend: Backend,
} as const

/** The options of endpoints by module, in the order of the agent's help. A module whose option is missing here does not compile. */
export const endpointOptions = {
  ip_restriction: IpRestriction.endpoint,
  basic_auth: BasicAuth.endpoint,
  compression: Compression.endpoint,
  circuit_breaker: CircuitBreaker.endpoint,
  websocket_tcp_converter: WebsocketTcpConverter.endpoint,
  request_headers: RequestHeaders.endpoint,
  response_headers: ResponseHeaders.endpoint,
  user_agent_filter: UserAgentFilter.endpoint,
  oauth: Oauth.endpoint,
  oidc: Oidc.endpoint,
  webhook_verification: WebhookVerification.endpoint,
} as const satisfies OptionsOf<typeof routeModules & { basic_auth: typeof BasicAuth }>

type OptionsOf<M extends Record<string, { readonly endpoint: unknown }>> = {
  readonly [N in keyof M as M[N]['endpoint'] extends undefined ? never : N]: M[N]['endpoint']
}

export {
  BACKEND_PREFIXES,
  Backend,
  BasicAuth,
  CircuitBreaker,
  Compression,
  HttpsTlsTermination,
  // The resource of that name restricts a whole account.
  IpRestriction as IpRestrictionModule,
  JwtValidation,
  MutualTls,
  OAUTH_PROVIDERS,
  Oauth,
  Oidc,
  RequestHeaders,
  ResponseHeaders,
  Saml,
  TlsTermination,
  TrafficPolicy,
  UserAgentFilter,
  WEBHOOK_PROVIDERS,
  WebhookVerification,
  WebsocketTcpConverter,
}

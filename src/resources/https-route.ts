import { common, defineResource, editable, fixed, live } from './define.ts'
import { noPolicies } from './edge-fields.ts'
import { module } from './module.ts'
import { Backend } from './modules/backend.ts'
import { CircuitBreaker } from './modules/circuit-breaker.ts'
import { Compression } from './modules/compression.ts'
import { RequestHeaders, ResponseHeaders } from './modules/headers.ts'
import { IpRestriction } from './modules/ip-restriction.ts'
import { Oauth } from './modules/oauth.ts'
import { Oidc } from './modules/oidc.ts'
import { Saml } from './modules/saml.ts'
import { UserAgentFilter } from './modules/user-agent-filter.ts'
import { WebhookVerification } from './modules/webhook-verification.ts'
import { WebsocketTcpConverter } from './modules/websocket-tcp-converter.ts'
import { choice, idOf, required, text } from './value.ts'

/** A path on an HTTPS edge, with the modules that process a request and the backend that responds. */
export const HttpsRoute = defineResource({
  name: 'HTTPS edge route',
  path: '/edges/https/{edge_id}/routes',
  prefix: 'edghtsrt',
  listKey: 'routes',
  event: 'https_edge_route',
  operations: ['create', 'get', 'update', 'delete'],
  fields: {
    ...common,
    edge_id: fixed(required(idOf(['edghts'], 'cascade'))),
    match_type: editable(required(choice(['exact_path', 'path_prefix'], 'path_prefix'))),
    match: editable(
      required(
        text(1024, (value) =>
          /^\/[\x21-\x7e]*$/.test(value) &&
          !/[?#\\]|\/\/|%2f|%5c|%00/i.test(value) &&
          !/(^|\/)\.\.?(\/|$)/.test(value)
            ? undefined
            : `"${value}" is not a path; write it as it appears in requests, starting with / and without query, // or dot segments.`,
        ),
      ),
    ),
    backend: editable(module(Backend)),
    ip_restriction: editable(module(IpRestriction)),
    circuit_breaker: editable(module(CircuitBreaker)),
    compression: editable(module(Compression)),
    request_headers: editable(module(RequestHeaders)),
    response_headers: editable(module(ResponseHeaders)),
    webhook_verification: editable(module(WebhookVerification)),
    oauth: editable(module(Oauth)),
    saml: editable(module(Saml)),
    oidc: editable(module(Oidc)),
    websocket_tcp_converter: editable(module(WebsocketTcpConverter)),
    user_agent_filter: editable(module(UserAgentFilter)),
    policies: live(noPolicies),
  },
  unique: ({ edge_id, match_type, match }) => [
    {
      within: 'account',
      scope: `route:${edge_id}`,
      name: `${match_type} ${match}`,
      taken: `The edge has a route for ${match_type} ${match} already.`,
    },
  ],
  rule({ oauth, saml, oidc }) {
    const logins = Object.entries({ oauth, saml, oidc }).filter(([, login]) => login?.enabled)
    return logins.length > 1
      ? {
          field: logins[1]![0],
          message: 'A route can have one of oauth, saml and oidc enabled, not several.',
        }
      : undefined
  },
})

import type { ErrorExplanation } from '../base/text/error-explanation.ts'

/** What an error page says besides the message of the error. */
export interface ErrorPageTexts {
  readonly title: string
  /** What the visitor can do. */
  readonly visitor: string
  /** What the owner of the endpoint can do; absent where the owner has nothing to change. */
  readonly owner?: string
  /** The part of the way at which the request stopped; absent where nothing is broken, such as when a rule denies it. */
  readonly stoppedAt?: 'server' | 'agent' | 'service'
}

/** One kind of error: its number, its HTTP status, the sentence the visitor sees, and the rest of the page. */
export interface ErrorKind extends ErrorExplanation {
  readonly code: number
  readonly status: number
  readonly text: (...params: never[]) => string
  readonly page: ErrorPageTexts
}

const CHECK_CLIENT = 'Reload the page. If you use a program, correct the request it sends.'
const ASK_OWNER = 'If you think you should have access, contact the owner of this site.'
const TRY_AGAIN = 'Wait a moment, then reload the page.'
const OPEN_AGAIN = 'Wait a moment, then open the page again.'

/** Every error of public traffic, with all its texts. */
export const errorKinds = {
  // Requests the edge does not forward.
  bad_request: {
    code: 3100,
    status: 400,
    cause: 'The request is malformed or ambiguous, so it was not forwarded.',
    next: 'Correct the client; the page says what was wrong.',
    text: (reason: string) => `The request was not forwarded: ${reason}.`,
    page: { title: 'Invalid request', visitor: CHECK_CLIENT },
  },
  head_too_large: {
    code: 3101,
    status: 431,
    cause: 'The request headers are too large.',
    next: 'Send fewer or shorter header fields, for example fewer cookies.',
    text: () => 'The request headers are too large. Send fewer or shorter header fields.',
    page: {
      title: 'Request headers too large',
      visitor: 'Delete the cookies of this site in your browser, then reload the page.',
      owner: 'Set fewer or smaller cookies.',
    },
  },
  target_too_long: {
    code: 3102,
    status: 414,
    cause: 'The request URL is too long.',
    next: 'Send data in the body instead.',
    text: () => 'The request URL is too long.',
    page: {
      title: 'Address too long',
      visitor: 'Open a shorter address.',
      owner: 'Send data in the request body instead of the URL.',
    },
  },
  version_unsupported: {
    code: 3103,
    status: 505,
    cause: 'This HTTP version is not supported.',
    next: 'Use HTTP/1.1 or HTTP/2: over TLS as ALPN negotiates it, otherwise with prior knowledge.',
    text: () => 'This HTTP version is not supported. Use HTTP/1.1 or HTTP/2.',
    page: { title: 'HTTP version not supported', visitor: 'Use a current browser.' },
  },
  method_refused: {
    code: 3104,
    status: 405,
    cause: 'Requests with this method are not forwarded.',
    next: 'Use another method.',
    text: (method: string) => `Requests with the method ${method} are not forwarded.`,
    page: { title: 'Method not allowed', visitor: CHECK_CLIENT },
  },
  expectation_failed: {
    code: 3105,
    status: 417,
    cause: 'The only supported expectation is `100-continue`.',
    next: 'Leave the `Expect` header out.',
    text: () => 'The only supported expectation is 100-continue.',
    page: { title: 'Expectation not supported', visitor: CHECK_CLIENT },
  },
  head_timeout: {
    code: 3106,
    status: 408,
    cause: 'The request headers did not arrive in time.',
    next: 'Try again; if the error persists, check the network.',
    text: () => 'The request did not arrive in time.',
    page: { title: 'Request timed out', visitor: 'Check your connection, then reload the page.' },
  },
  misdirected: {
    code: 3107,
    status: 421,
    cause: 'The connection was opened for another host, whose TLS settings differ.',
    next: 'Open a new connection for this host.',
    text: (host: string) =>
      `This connection was opened for another host. ${host} has different TLS settings, so open a new connection.`,
    page: { title: 'Wrong connection', visitor: 'Reload the page.' },
  },
  ambiguous_path: {
    code: 3108,
    status: 400,
    cause: 'The path is ambiguous, and the endpoint has routes or a policy that depend on it.',
    next: 'Send it in a plain form: docs/edges.md lists what is ambiguous.',
    text: () =>
      'The path can be read in two ways. Send it without dot segments, "//" at its start, backslashes, ";", encoded control characters and escapes that are not UTF-8.',
    page: { title: 'Ambiguous path', visitor: 'Check the address for repeated slashes and dots.' },
  },
  body_timeout: {
    code: 3109,
    status: 408,
    cause: 'The body stopped arriving.',
    next: 'Try again.',
    text: () => 'The request body stopped arriving.',
    page: { title: 'Upload timed out', visitor: 'Check your connection, then try again.' },
  },
  body_too_large: {
    code: 3110,
    status: 413,
    cause: 'The body exceeds the size that the endpoint can check.',
    next: 'Send a smaller body.',
    text: (limit: string) => `The request body exceeds the ${limit} that this endpoint can check.`,
    page: { title: 'Upload too large', visitor: 'Send less data.' },
  },
  too_many_bodies: {
    code: 3111,
    status: 503,
    cause:
      'Too many bodies are buffered, from this address or in total: of requests that are checked, or of responses that visitors read too slowly.',
    next: 'Try again shortly.',
    text: () => 'Too many bodies are buffered right now. Try again shortly.',
    page: { title: 'Too many transfers', visitor: TRY_AGAIN },
  },
  certificate_at_proxy: {
    code: 3112,
    status: 403,
    cause: 'The endpoint requires a client certificate, and a proxy in front of the server terminated TLS.',
    next: 'Configure the proxy to forward TLS unchanged: [behind a proxy](behind-a-proxy.md#tls-passthrough).',
    text: (host: string) =>
      `${host} requires a client certificate, which is lost when a proxy terminates TLS. The operator must forward TLS unchanged.`,
    page: {
      title: 'Client certificate missing',
      visitor: ASK_OWNER,
      owner: 'Configure the proxy in front of the server to forward TLS unchanged.',
    },
  },

  // No endpoint, or none that admits this client.
  endpoint_not_found: {
    code: 3200,
    status: 404,
    cause: 'No tunnel or edge serves this name right now.',
    next: 'Start the agent, or check the name.',
    text: (host: string) => `Tunnel ${host} not found`,
    page: {
      title: 'Nothing is online at this address',
      visitor: 'Check the address for typing errors. If it is right, try again later.',
      owner: 'Start the agent for this name, or create an edge for it.',
      stoppedAt: 'agent',
    },
  },
  breaker_open: {
    code: 3202,
    status: 503,
    cause: 'The circuit breaker of the route is open because the upstream returned too many errors.',
    next: 'Try again shortly; check the upstream.',
    text: (host: string) =>
      `The circuit breaker of ${host} is open after too many errors. Try again shortly.`,
    page: {
      title: 'This site is having problems',
      visitor: TRY_AGAIN,
      owner: 'Look at the errors of the service. The circuit breaker closes automatically when they stop.',
      stoppedAt: 'service',
    },
  },
  address_denied: {
    code: 3203,
    status: 403,
    cause: "An IP policy of the endpoint denies the visitor's address.",
    next: 'Its owner can add a rule.',
    text: (address: string) => `The IP policy of this endpoint does not admit ${address}.`,
    page: {
      title: 'Access denied',
      visitor: ASK_OWNER,
      owner: 'Add a rule for this address to the IP policy of the endpoint.',
    },
  },
  webhook_denied: {
    code: 3204,
    status: 403,
    cause: 'The signature of a webhook could not be verified.',
    next: 'Compare the provider and the secret of the module with those of the sender.',
    text: (reason: string) => `The webhook could not be verified: ${reason}.`,
    page: {
      title: 'Webhook signature invalid',
      visitor: 'This address accepts only signed webhooks.',
      owner: 'Compare the provider and the secret of the webhook module with those of the sender.',
    },
  },
  account_address_denied: {
    code: 3205,
    status: 403,
    cause: "The account's IP restriction of type `endpoints` denies the visitor's address.",
    next: 'Its owner can add a rule.',
    text: (address: string) => `The IP restrictions of this account do not admit ${address}.`,
    page: {
      title: 'Access denied',
      visitor: ASK_OWNER,
      owner: 'Add a rule for this address to the IP restriction of the account.',
    },
  },
  not_websocket: {
    code: 3206,
    status: 400,
    cause: 'The endpoint accepts only WebSocket connections.',
    next: 'Use a WebSocket client.',
    text: () => 'This endpoint accepts WebSocket connections only.',
    page: {
      title: 'WebSocket only',
      visitor: 'Use a WebSocket client.',
    },
  },
  login_required: {
    code: 3213,
    status: 401,
    cause: 'The endpoint requires the visitor to sign in, which this client cannot do.',
    next: 'Open the page in a browser.',
    text: () => 'Sign-in required. Open the page in a browser.',
    page: { title: 'Sign-in required', visitor: 'Open the page in a browser and sign in.' },
  },
  login_unavailable: {
    code: 3214,
    status: 503,
    cause: 'A sign-in or sign-out could not be stored for all nodes, so it did not take effect.',
    next: 'Try again; if the error persists, check the database.',
    text: () =>
      'Sign-in and sign-out are unavailable because sessions cannot be saved right now. Try again in a moment.',
    page: {
      title: 'Sign-in is unavailable',
      visitor: OPEN_AGAIN,
      owner: 'If it persists, the operator of the server has to check its database.',
      stoppedAt: 'server',
    },
  },
  login_provider_unavailable: {
    code: 3216,
    status: 502,
    cause: 'The identity provider is unreachable, too slow, or sends too large a response.',
    next: 'Try again; if the error persists, check the provider, or allow it with `--outbound-allow`.',
    text: () =>
      'The identity provider of this page cannot be reached or did not respond in time. Try again in a moment.',
    page: {
      title: 'The identity provider does not respond',
      visitor: OPEN_AGAIN,
      owner: 'Check that the identity provider is running and that the server can reach it.',
    },
  },
  login_busy: {
    code: 3218,
    status: 503,
    cause:
      'More messages from identity providers arrive than can be verified, or verifying one took too long.',
    next: 'Open the page again after the number of seconds in `Retry-After`.',
    text: () => 'Too many sign-ins are in progress. Open the page again in a moment.',
    page: { title: 'Sign-in is busy', visitor: OPEN_AGAIN },
  },
  too_many_logins: {
    code: 3219,
    status: 429,
    cause: 'One address has sent too many invalid messages from identity providers.',
    next: 'Try again after the number of seconds in `Retry-After`; the operator can change the limit with `--login-rate-limit`.',
    text: () => 'Too many failed sign-ins from this address. Try again later.',
    page: { title: 'Too many failed sign-ins', visitor: 'Wait a few minutes, then try again.' },
  },
  login_denied: {
    code: 3207,
    status: 403,
    cause: 'The visitor has signed in but is not allowed to use the endpoint.',
    next: 'Ask the owner of the endpoint.',
    text: (reason: string) => `You do not have access: ${reason}.`,
    page: {
      title: 'Access denied',
      visitor: 'Sign in with another account, or ask the owner of this site for access.',
      owner: 'Change who is allowed in the sign-in module or policy of the endpoint.',
    },
  },
  login_failed: {
    code: 3222,
    status: 403,
    cause: 'A sign-in was not completed: it was cancelled, took too long, or its response was not valid.',
    next: 'Open the page again. If it fails again, the owner can find the reason in the dashboard and the log.',
    text: (reason: string) => `The sign-in was not completed: ${reason}.`,
    page: { title: 'Sign-in not completed', visitor: 'Open the page again to start a new sign-in.' },
  },
  login_misconfigured: {
    code: 3223,
    status: 500,
    cause: 'The sign-in of the endpoint, or its identity provider, is misconfigured.',
    next: 'Its owner can find the reason in the dashboard and the log; the table in `docs/login.md` names the setting.',
    text: () => 'You cannot sign in here right now: the sign-in of this page is misconfigured.',
    page: {
      title: 'Sign-in is misconfigured',
      visitor: 'Tell the owner of this site. They can see the reason.',
      owner: 'Your dashboard and the log of the server name the reason and the setting.',
    },
  },
  credentials_required: {
    code: 3208,
    status: 401,
    cause: 'The endpoint requires a user name and password.',
    next: 'Enter them, or send them in an `Authorization` header.',
    // Scripts look for the first two words.
    text: () => '401 Unauthorized: this endpoint requires a user name and password.',
    page: {
      title: 'Password required',
      visitor: 'Reload the page, then enter the user name and password that the owner of this site gave you.',
    },
  },
  route_not_found: {
    code: 3209,
    status: 404,
    cause: 'The edge has no route for this path.',
    next: 'Its owner can add one.',
    text: (host: string) => `No route of ${host} serves this path.`,
    page: {
      title: 'Page not found',
      visitor: 'Check the address for typing errors, or start at the home page.',
      owner: 'Add a route for this path to the edge.',
    },
  },
  user_agent_denied: {
    code: 3211,
    status: 403,
    cause: 'The endpoint denies this user agent.',
    next: 'Its owner can change the filter.',
    text: () => 'This user agent is not allowed.',
    page: {
      title: 'Access denied',
      visitor: 'Use another browser. If that does not help, contact the owner of this site.',
      owner: 'Change the user agent filter of the endpoint.',
    },
  },
  cookie_domain_invalid: {
    code: 3313,
    status: 503,
    cause:
      'The `auth_cookie_domain` of the sign-in is not a parent domain of the host reserved by the account, so every request is denied.',
    next: 'Its owner has to reserve the domain or correct the traffic policy.',
    text: (domain: string) =>
      `The sign-in of this endpoint is misconfigured: its cookies cannot be set for ${domain}. Contact the owner.`,
    page: {
      title: 'This site is misconfigured',
      visitor: 'Try again later, or tell the owner of this site.',
      owner: 'Reserve the auth_cookie_domain of the traffic policy, or change it.',
      stoppedAt: 'server',
    },
  },
  module_broken: {
    code: 3212,
    status: 503,
    cause:
      'A module of the endpoint lacks something it needs (an IP policy, a certificate authority, an identity provider), so it denies all traffic.',
    next: 'Its owner has to fix the module.',
    text: (module: string) =>
      `The ${module} module of this endpoint is misconfigured, so every request is denied. Contact the owner.`,
    page: {
      title: 'This site is misconfigured',
      visitor: 'Try again later, or tell the owner of this site.',
      owner: 'Open the edge in the dashboard, which names what the module lacks.',
      stoppedAt: 'server',
    },
  },
  policy_failed: {
    code: 2300,
    status: 500,
    cause:
      'The traffic policy of the endpoint could not be applied to this request: an interpolated expression failed or took too long.',
    next: 'Its owner can find the reason in the log of the server.',
    text: () => 'The traffic policy of this endpoint could not be applied, so the request was denied.',
    page: {
      title: 'This site is misconfigured',
      visitor: 'Try again later, or tell the owner of this site.',
      owner: 'Check the expressions of the traffic policy; the log of the server has the reason.',
      stoppedAt: 'server',
    },
  },
  rule_undecided: {
    code: 2302,
    status: 403,
    cause:
      'An expression of the traffic policy failed before an action that rejects, for example because it reads a header that the request lacks. Whether the request may pass is unknown, so it was rejected.',
    next: 'Its owner can test with `has()`, `in` or `hasReqHeader()` before reading; `adit policy check` names such expressions.',
    text: (rule: string, reason: string) =>
      `The traffic policy of this endpoint could not evaluate this request, so it was rejected: ${rule}: ${reason}.`,
    page: {
      title: 'Access denied',
      visitor: ASK_OWNER,
      owner:
        'Correct the expression of the traffic policy: test with has() or in before reading what may be absent.',
    },
  },
  policy_denied: {
    code: 2301,
    status: 403,
    cause: 'A rule of the traffic policy closed the connection.',
    next: 'Its owner can change the rule.',
    text: () => 'The traffic policy of this endpoint closed the connection.',
    page: {
      title: 'Access denied',
      visitor: ASK_OWNER,
      owner: 'Change the rule of the traffic policy that denies this request.',
    },
  },
  token_missing: {
    code: 3401,
    status: 401,
    cause: 'The endpoint requires a JSON Web Token, and the request has none where it is expected.',
    next: 'Send the token in the header or field that the owner of the endpoint names.',
    text: () => 'This endpoint requires a token, and the request has none.',
    page: {
      title: 'Token required',
      visitor: 'Send a token that the owner of this address issued.',
      owner: 'Check where the jwt-validation action of the traffic policy looks for the token.',
    },
  },
  token_denied: {
    code: 3403,
    status: 403,
    cause: 'The JSON Web Token of the request is not accepted by the endpoint.',
    next: 'Get a new token from the issuer that the owner of the endpoint names; the page says what was wrong.',
    text: (reason: string) => `The token of the request was not accepted: ${reason}.`,
    page: {
      title: 'Token not accepted',
      visitor: 'Get a new token from its issuer.',
      owner: 'Compare the issuer, audience and keys of the jwt-validation action with those of the token.',
    },
  },
  internal_not_found: {
    code: 3500,
    status: 404,
    cause: 'The traffic policy forwards to an internal endpoint of the account that is not online.',
    next: 'Its owner has to start the agent of that endpoint, or correct the URL in the policy.',
    text: () => 'The internal endpoint that this request is forwarded to is not online.',
    page: {
      title: 'A part of this site is offline',
      visitor: TRY_AGAIN,
      owner: 'Start the agent of the internal endpoint, or correct the URL of forward-internal.',
      stoppedAt: 'agent',
    },
  },
  internal_unreachable: {
    code: 3502,
    status: 502,
    cause:
      'The traffic policy forwards the connection to an internal endpoint whose agent accepts no connections right now.',
    next: 'Its owner has to check the agent of that endpoint.',
    text: () => 'The internal endpoint that this connection is forwarded to cannot be reached.',
    page: {
      title: 'A part of this site is offline',
      visitor: TRY_AGAIN,
      owner: 'Check the agent of the internal endpoint: it accepts no connections right now.',
      stoppedAt: 'agent',
    },
  },
  tls_terminated: {
    code: 3503,
    status: 502,
    cause:
      'The traffic policy forwards the connection to an internal endpoint that terminates TLS, but the connection does not use TLS, or no longer does.',
    next: 'Its owner has to forward it to a tcp endpoint, or terminate TLS in only one of the two policies.',
    text: () => 'The internal endpoint that this connection is forwarded to expects TLS.',
    page: {
      title: 'This site forwards without TLS',
      visitor: 'Contact the owner of this site.',
      owner: 'Forward to a tcp endpoint, or terminate TLS in only one of the two policies.',
      stoppedAt: 'server',
    },
  },
  too_many_forwards: {
    code: 3501,
    status: 508,
    cause: 'Traffic policies forward the request through too many internal endpoints, perhaps in a loop.',
    next: 'Its owner has to correct the policies.',
    text: (limit: string) => `The request was forwarded through more than ${limit} internal endpoints.`,
    page: {
      title: 'This site forwards in a loop',
      visitor: 'Contact the owner of this site.',
      owner: 'Look for traffic policies whose forward-internal actions lead back to each other.',
      stoppedAt: 'server',
    },
  },
  rate_limited: {
    code: 3221,
    status: 429,
    cause: 'A rate limit in the traffic policy of the endpoint is exceeded.',
    next: 'Try again after the number of seconds in `Retry-After`.',
    text: () => 'Too many requests. Try again later.',
    page: {
      title: 'Too many requests',
      visitor: 'Wait a moment, then reload the page.',
      owner: 'Change the rate limit in the traffic policy of the endpoint.',
    },
  },
  call_failed: {
    code: 3600,
    status: 502,
    cause: 'The traffic policy of the endpoint calls another server before it responds, and the call failed.',
    next: 'Its owner has to check that server, or allow it with `--outbound-allow`.',
    text: (reason: string) => `A server that this endpoint depends on could not be called: ${reason}.`,
    page: {
      title: 'Not available right now',
      visitor: 'Try again in a moment.',
      owner: 'Check the server that the http-request action of the traffic policy calls.',
    },
  },
  call_too_large: {
    code: 3601,
    status: 502,
    cause: 'A server that the traffic policy of the endpoint calls sends a response that is too large.',
    next: 'Its owner has to call a URL with a shorter response.',
    text: (limit: string) => `A server that this endpoint depends on sent more than ${limit}.`,
    page: {
      title: 'Not available right now',
      visitor: ASK_OWNER,
      owner: 'Change the http-request action of the traffic policy to call a URL with a shorter response.',
    },
  },
  call_timeout: {
    code: 3602,
    status: 504,
    cause: 'A server that the traffic policy of the endpoint calls did not respond in time.',
    next: 'Its owner has to check that server, or raise `timeout` of the action.',
    text: () => 'A server that this endpoint depends on did not respond in time.',
    page: {
      title: 'Not available right now',
      visitor: 'Try again in a moment.',
      owner:
        'Check the server that the http-request action of the traffic policy calls, or raise its timeout.',
    },
  },
  call_loop: {
    code: 3603,
    status: 508,
    cause: 'Calls of traffic policies lead back to themselves.',
    next: 'Its owner has to change the URL of the `http-request` action.',
    text: () => 'The calls of the traffic policy of this endpoint lead back to it.',
    page: {
      title: 'Too many calls',
      visitor: ASK_OWNER,
      owner:
        'Change the URL of the http-request action of the traffic policy, which leads back to this address.',
    },
  },
  binding_request_invalid: {
    code: 3700,
    status: 400,
    cause:
      'A Kubernetes cluster sent something other than a request for a service, or a request that is too long.',
    next: 'Check that it is the operator that connects, not another program; if so, update it.',
    text: (reason: string) => `The request for a service was not understood: ${reason}.`,
    page: { title: 'Invalid request from a cluster', visitor: CHECK_CLIENT },
  },
  operator_unknown: {
    code: 3701,
    status: 401,
    cause:
      'The client certificate of a Kubernetes cluster is not the current one of an operator with the feature `bindings`: it was replaced, was not issued here, or its operator was deleted.',
    next: 'Restart the operator, which then registers and gets a new certificate.',
    text: () =>
      'This certificate is not the current one of a Kubernetes operator with the feature bindings. Restart the operator to get a new certificate.',
    page: {
      title: 'Unknown Kubernetes operator',
      visitor: ASK_OWNER,
      owner: 'Restart the operator to get a new certificate.',
    },
  },
  operator_certificate_expired: {
    code: 3702,
    status: 401,
    cause: 'The client certificate of a Kubernetes operator has expired.',
    next: 'Check that the operator is running and can reach the API: it renews its certificate 30 days before expiry.',
    text: () => 'The certificate of this Kubernetes operator has expired. Check that it can reach the API.',
    page: {
      title: 'Kubernetes operator certificate expired',
      visitor: ASK_OWNER,
      owner: 'Check that the operator can reach the API.',
    },
  },
  service_not_found: {
    code: 3703,
    status: 404,
    cause:
      'No endpoint with the binding `kubernetes` is online at the address that a Kubernetes cluster asked for, or no selector of its operator selects it.',
    next: 'Start the agent of that endpoint, or change `endpoint_selectors` of the operator.',
    text: (address: string) => `No endpoint that this Kubernetes operator selects is online at ${address}.`,
    page: {
      title: 'Nothing is online for this service',
      visitor: TRY_AGAIN,
      owner: 'Start the agent of the endpoint, or change the selectors of the operator.',
      stoppedAt: 'agent',
    },
  },
  service_unreachable: {
    code: 3704,
    status: 502,
    cause: 'The agent of an endpoint that is bound to a Kubernetes cluster accepts no connections right now.',
    next: 'Check the agent of that endpoint.',
    text: (address: string) =>
      `The endpoint at ${address} accepts no connections right now. Check its agent.`,
    page: {
      title: 'This service is offline',
      visitor: TRY_AGAIN,
      owner: 'Check the agent of the endpoint: it accepts no connections right now.',
      stoppedAt: 'agent',
    },
  },
  no_upstream: {
    code: 6029,
    status: 503,
    cause:
      'The traffic policy of a cloud endpoint did not end the request, and a cloud endpoint has no upstream.',
    next: 'Its owner has to add a rule that ends every request.',
    text: (host: string) => `The traffic policy of ${host} did not respond to this request.`,
    page: {
      title: 'This site does not respond',
      visitor: 'Contact the owner of this site.',
      owner: 'Change the traffic policy of the cloud endpoint to end every request.',
      stoppedAt: 'server',
    },
  },
  no_backend: {
    code: 6528,
    status: 503,
    cause: "None of the edge's backends is online.",
    next: 'Start an agent with the labels of the backend.',
    text: (host: string) => `No backend of ${host} is online.`,
    page: {
      title: 'This site is offline',
      visitor: 'Try again later.',
      owner: 'Start an agent with the labels of the backend, or change the backend.',
      stoppedAt: 'agent',
    },
  },
  api_offline: {
    code: 6529,
    status: 503,
    cause:
      'No node that runs the management API can be reached: it is starting or stopping, or none is online.',
    next: 'Try again in a moment.',
    text: (host: string) => `The server behind ${host} is starting or stopping. Try again in a moment.`,
    page: {
      title: 'The server is starting or stopping',
      visitor: TRY_AGAIN,
      stoppedAt: 'server',
    },
  },

  // Behind the tunnel.
  agent_offline: {
    code: 8011,
    status: 502,
    cause: 'The agent went offline during the request.',
    next: 'Try again; it reconnects automatically.',
    text: (host: string) => `The agent that serves ${host} went offline during the request.`,
    page: {
      title: 'The connection to this site was lost',
      visitor: TRY_AGAIN,
      owner: 'Check the network of the agent; it reconnects automatically.',
      stoppedAt: 'agent',
    },
  },
  upstream_refused: {
    code: 8012,
    status: 502,
    cause: 'The agent could not connect to its upstream. The page says why, but not where the upstream is.',
    next: 'Follow the page; the log and the inspector of the agent name the address too.',
    text: (host: string, reason: string) =>
      `The agent of ${host} could not connect to its upstream: ${reason}.`,
    page: {
      title: 'This site does not respond',
      visitor: 'Try again later.',
      owner: 'Check the address of the service; the log and the inspector of the agent name it.',
      stoppedAt: 'service',
    },
  },
  upstream_closed: {
    code: 8016,
    status: 502,
    cause: 'The upstream closed the connection before its response was complete.',
    next: 'Look at the log of the service. If it expects TLS, begin its address with `https://`: `adit http https://localhost:8443`.',
    text: (host: string) => `The upstream of ${host} closed the connection before its response was complete.`,
    page: {
      title: 'This site does not respond',
      visitor: 'Try again later.',
      owner:
        'Look at the log of the service. If it expects TLS, begin its address with `https://`: `adit http https://localhost:8443`.',
      stoppedAt: 'service',
    },
  },
  upstream_broken: {
    code: 8013,
    status: 502,
    cause: 'The upstream sent an invalid HTTP response.',
    next: 'Check that it speaks HTTP, and whether it requires TLS.',
    text: (host: string, reason: string) =>
      `The upstream of ${host} sent an invalid HTTP response: ${reason}.`,
    page: {
      title: 'This site sent an invalid response',
      visitor: 'Try again later, or tell the owner of this site.',
      owner: 'Check that the service speaks HTTP on its port, and whether it requires TLS.',
      stoppedAt: 'service',
    },
  },
  upstream_timeout: {
    code: 8014,
    status: 504,
    cause: 'The upstream did not respond in time; the page says how long the server waited.',
    next: 'Check the upstream, or allow it more time with the action `response-timeout` of a traffic policy.',
    text: (host: string, failure: string) => `The upstream of ${host} ${failure}.`,
    page: {
      title: 'This site took too long to respond',
      visitor: 'Reload the page, or try again later.',
      owner:
        'Find out what keeps the service from responding, or allow it more time with the action response-timeout of a traffic policy.',
      stoppedAt: 'service',
    },
  },
  too_busy: {
    code: 8015,
    status: 503,
    cause: 'The endpoint has too many connections right now.',
    next: 'Try again shortly.',
    text: (host: string) => `${host} has too many connections right now. Try again shortly.`,
    page: {
      title: 'This site is busy',
      visitor: TRY_AGAIN,
      owner: 'Start a second agent for the endpoint, or find what keeps connections open.',
      stoppedAt: 'agent',
    },
  },
  internal: {
    code: 3199,
    status: 500,
    cause: 'Internal server error.',
    next: 'Report the ID on the page to the operator, who can find it in the log.',
    text: (id: string) => `Something went wrong. If it happens again, report the ID ${id}.`,
    page: {
      title: 'Something went wrong',
      visitor: 'Reload the page. If it happens again, report the ID above.',
      owner: 'The operator of the server can find the ID in its log.',
      stoppedAt: 'server',
    },
  },
} satisfies Record<string, ErrorKind>

/** The names of all errors of public traffic. */
export type EdgeErrorName = keyof typeof errorKinds

/** Every error, for the documentation and the test that keeps it complete. */
export const edgeErrorKinds: Readonly<Record<EdgeErrorName, Readonly<ErrorKind>>> = errorKinds

import type { ErrorExplanation } from '../base/text/error-explanation.ts'

/** One kind of error: its number, its HTTP status and the sentence the visitor sees. */
interface ErrorKind extends ErrorExplanation {
  readonly code: number
  readonly status: number
  readonly text: (...params: never[]) => string
}

const errorKinds = {
  // Requests the edge does not forward.
  bad_request: {
    code: 3100,
    status: 400,
    cause: 'The request is malformed or ambiguous, so it was not forwarded.',
    next: 'Correct the client; the page says what was wrong.',
    text: (reason: string) => `The request was not forwarded: ${reason}.`,
  },
  head_too_large: {
    code: 3101,
    status: 431,
    cause: 'The request headers are too large.',
    next: 'Send fewer or shorter header fields, for example fewer cookies.',
    text: () => 'The request headers are too large. Send fewer or shorter header fields.',
  },
  target_too_long: {
    code: 3102,
    status: 414,
    cause: 'The request URL is too long.',
    next: 'Send data in the body instead.',
    text: () => 'The request URL is too long.',
  },
  version_unsupported: {
    code: 3103,
    status: 505,
    cause: 'This HTTP version is not supported.',
    next: 'Use HTTP/1.1 or HTTP/2: over TLS as ALPN negotiates it, otherwise with prior knowledge.',
    text: () => 'This HTTP version is not supported. Use HTTP/1.1 or HTTP/2.',
  },
  method_refused: {
    code: 3104,
    status: 405,
    cause: 'Requests with this method are not forwarded.',
    next: 'Use another method.',
    text: (method: string) => `Requests with the method ${method} are not forwarded.`,
  },
  expectation_failed: {
    code: 3105,
    status: 417,
    cause: 'The only supported expectation is `100-continue`.',
    next: 'Leave the `Expect` header out.',
    text: () => 'The only supported expectation is 100-continue.',
  },
  head_timeout: {
    code: 3106,
    status: 408,
    cause: 'The request headers did not arrive in time.',
    next: 'Try again; if the error persists, check the network.',
    text: () => 'The request did not arrive in time.',
  },
  misdirected: {
    code: 3107,
    status: 421,
    cause: 'The connection was opened for another host, whose TLS settings differ.',
    next: 'Open a new connection for this host.',
    text: (host: string) =>
      `This connection was opened for another host. ${host} has different TLS settings, so open a new connection.`,
  },
  ambiguous_path: {
    code: 3108,
    status: 400,
    cause: 'The path is ambiguous, and the endpoint has routes or a policy that depend on it.',
    next: 'Send it in a plain form: docs/edges.md lists what is ambiguous.',
    text: () =>
      'The path can be read in two ways. Send it without dot segments, "//" at its start, backslashes, ";", encoded control characters and escapes that are not UTF-8.',
  },
  body_timeout: {
    code: 3109,
    status: 408,
    cause: 'The body stopped arriving.',
    next: 'Try again.',
    text: () => 'The request body stopped arriving.',
  },
  body_too_large: {
    code: 3110,
    status: 413,
    cause: 'The body exceeds the size that the endpoint can check.',
    next: 'Send a smaller body.',
    text: (limit: string) => `The request body exceeds the ${limit} that this endpoint can check.`,
  },
  too_many_bodies: {
    code: 3111,
    status: 503,
    cause:
      'Too many bodies are buffered, from this address or in total: of requests that are checked, or of responses that visitors read too slowly.',
    next: 'Try again shortly.',
    text: () => 'Too many bodies are buffered right now. Try again shortly.',
  },
  certificate_at_proxy: {
    code: 3112,
    status: 403,
    cause: 'The endpoint requires a client certificate, and a proxy in front of the server terminated TLS.',
    next: 'Configure the proxy to forward TLS unchanged: [behind a proxy](behind-a-proxy.md#tls-passthrough).',
    text: (host: string) =>
      `${host} requires a client certificate, which is lost when a proxy terminates TLS. The operator must forward TLS unchanged.`,
  },

  // No endpoint, or none that admits this client.
  endpoint_not_found: {
    code: 3200,
    status: 404,
    cause: 'No tunnel or edge serves this name right now.',
    next: 'Start the agent, or check the name.',
    text: (host: string) => `Tunnel ${host} not found`,
  },
  breaker_open: {
    code: 3202,
    status: 503,
    cause: 'The circuit breaker of the route is open because the upstream returned too many errors.',
    next: 'Try again shortly; check the upstream.',
    text: (host: string) =>
      `The circuit breaker of ${host} is open after too many errors. Try again shortly.`,
  },
  address_denied: {
    code: 3203,
    status: 403,
    cause: "An IP policy of the endpoint denies the visitor's address.",
    next: 'Its owner can add a rule.',
    text: (address: string) => `The IP policy of this endpoint does not admit ${address}.`,
  },
  webhook_denied: {
    code: 3204,
    status: 403,
    cause: 'The signature of a webhook could not be verified.',
    next: 'Compare the provider and the secret of the module with those of the sender.',
    text: (reason: string) => `The webhook could not be verified: ${reason}.`,
  },
  account_address_denied: {
    code: 3205,
    status: 403,
    cause: "The account's IP restriction of type `endpoints` denies the visitor's address.",
    next: 'Its owner can add a rule.',
    text: (address: string) => `The IP restrictions of this account do not admit ${address}.`,
  },
  not_websocket: {
    code: 3206,
    status: 400,
    cause: 'The endpoint accepts only WebSocket connections.',
    next: 'Use a WebSocket client.',
    text: () => 'This endpoint accepts WebSocket connections only.',
  },
  login_required: {
    code: 3213,
    status: 401,
    cause: 'The endpoint requires the visitor to sign in, which this client cannot do.',
    next: 'Open the page in a browser.',
    text: () => 'Sign-in required. Open the page in a browser.',
  },
  login_unavailable: {
    code: 3214,
    status: 503,
    cause: 'A sign-in or sign-out could not be stored for all nodes, so it did not take effect.',
    next: 'Try again; if the error persists, check the database.',
    text: () =>
      'Sign-in and sign-out are unavailable because sessions cannot be saved right now. Try again in a moment.',
  },
  login_provider_unavailable: {
    code: 3216,
    status: 502,
    cause: 'The identity provider is unreachable, too slow, or sends too large a response.',
    next: 'Try again; if the error persists, check the provider, or allow it with `--outbound-allow`.',
    text: () =>
      'The identity provider of this page cannot be reached or did not respond in time. Try again in a moment.',
  },
  login_busy: {
    code: 3218,
    status: 503,
    cause:
      'More messages from identity providers arrive than can be verified, or verifying one took too long.',
    next: 'Open the page again after the number of seconds in `Retry-After`.',
    text: () => 'Too many sign-ins are in progress. Open the page again in a moment.',
  },
  too_many_logins: {
    code: 3219,
    status: 429,
    cause: 'One address has sent too many invalid messages from identity providers.',
    next: 'Try again after the number of seconds in `Retry-After`; the operator can change the limit with `--login-rate-limit`.',
    text: () => 'Too many failed sign-ins from this address. Try again later.',
  },
  login_denied: {
    code: 3207,
    status: 403,
    cause: 'The visitor has signed in but is not allowed to use the endpoint.',
    next: 'Ask the owner of the endpoint.',
    text: (reason: string) => `You do not have access: ${reason}.`,
  },
  login_failed: {
    code: 3222,
    status: 403,
    cause: 'A sign-in was not completed: it was cancelled, took too long, or its response was not valid.',
    next: 'Open the page again. If it fails again, the owner can find the reason in the dashboard and the log.',
    text: (reason: string) => `The sign-in was not completed: ${reason}.`,
  },
  login_misconfigured: {
    code: 3223,
    status: 500,
    cause: 'The sign-in of the endpoint, or its identity provider, is misconfigured.',
    next: 'Its owner can find the reason in the dashboard and the log; the table in `docs/login.md` names the setting.',
    text: () => 'You cannot sign in here right now: the sign-in of this page is misconfigured.',
  },
  credentials_required: {
    code: 3208,
    status: 401,
    cause: 'The endpoint requires a user name and password.',
    next: 'Enter them, or send them in an `Authorization` header.',
    // Scripts look for the first two words.
    text: () => '401 Unauthorized: this endpoint requires a user name and password.',
  },
  route_not_found: {
    code: 3209,
    status: 404,
    cause: 'The edge has no route for this path.',
    next: 'Its owner can add one.',
    text: (host: string) => `No route of ${host} serves this path.`,
  },
  user_agent_denied: {
    code: 3211,
    status: 403,
    cause: 'The endpoint denies this user agent.',
    next: 'Its owner can change the filter.',
    text: () => 'This user agent is not allowed.',
  },
  cookie_domain_invalid: {
    code: 3313,
    status: 503,
    cause:
      'The `auth_cookie_domain` of the sign-in is not a parent domain of the host reserved by the account, so every request is denied.',
    next: 'Its owner has to reserve the domain or correct the traffic policy.',
    text: (domain: string) =>
      `The sign-in of this endpoint is misconfigured: its cookies cannot be set for ${domain}. Contact the owner.`,
  },
  module_broken: {
    code: 3212,
    status: 503,
    cause:
      'A module of the endpoint lacks something it needs (an IP policy, a certificate authority, an identity provider), so it denies all traffic.',
    next: 'Its owner has to fix the module.',
    text: (module: string) =>
      `The ${module} module of this endpoint is misconfigured, so every request is denied. Contact the owner.`,
  },
  policy_failed: {
    code: 2300,
    status: 500,
    cause:
      'The traffic policy of the endpoint could not be applied to this request: an interpolated expression failed or took too long.',
    next: 'Its owner can find the reason in the log of the server.',
    text: () => 'The traffic policy of this endpoint could not be applied, so the request was denied.',
  },
  rule_undecided: {
    code: 2302,
    status: 403,
    cause:
      'An expression of the traffic policy failed before an action that rejects, for example because it reads a header that the request lacks. Whether the request may pass is unknown, so it was rejected.',
    next: 'Its owner can test with `has()`, `in` or `hasReqHeader()` before reading; `adit policy check` names such expressions.',
    text: (rule: string, reason: string) =>
      `The traffic policy of this endpoint could not evaluate this request, so it was rejected: ${rule}: ${reason}.`,
  },
  policy_denied: {
    code: 2301,
    status: 403,
    cause: 'A rule of the traffic policy closed the connection.',
    next: 'Its owner can change the rule.',
    text: () => 'The traffic policy of this endpoint closed the connection.',
  },
  token_missing: {
    code: 3401,
    status: 401,
    cause: 'The endpoint requires a JSON Web Token, and the request has none where it is expected.',
    next: 'Send the token in the header or field that the owner of the endpoint names.',
    text: () => 'This endpoint requires a token, and the request has none.',
  },
  token_denied: {
    code: 3403,
    status: 403,
    cause: 'The JSON Web Token of the request is not accepted by the endpoint.',
    next: 'Get a new token from the issuer that the owner of the endpoint names; the page says what was wrong.',
    text: (reason: string) => `The token of the request was not accepted: ${reason}.`,
  },
  internal_not_found: {
    code: 3500,
    status: 404,
    cause: 'The traffic policy forwards to an internal endpoint of the account that is not online.',
    next: 'Its owner has to start the agent of that endpoint, or correct the URL in the policy.',
    text: () => 'The internal endpoint that this request is forwarded to is not online.',
  },
  internal_unreachable: {
    code: 3502,
    status: 502,
    cause:
      'The traffic policy forwards the connection to an internal endpoint whose agent accepts no connections right now.',
    next: 'Its owner has to check the agent of that endpoint.',
    text: () => 'The internal endpoint that this connection is forwarded to cannot be reached.',
  },
  tls_terminated: {
    code: 3503,
    status: 502,
    cause:
      'The traffic policy forwards the connection to an internal endpoint that terminates TLS, but the connection does not use TLS, or no longer does.',
    next: 'Its owner has to forward it to a tcp endpoint, or terminate TLS in only one of the two policies.',
    text: () => 'The internal endpoint that this connection is forwarded to expects TLS.',
  },
  too_many_forwards: {
    code: 3501,
    status: 508,
    cause: 'Traffic policies forward the request through too many internal endpoints, perhaps in a loop.',
    next: 'Its owner has to correct the policies.',
    text: (limit: string) => `The request was forwarded through more than ${limit} internal endpoints.`,
  },
  rate_limited: {
    code: 3221,
    status: 429,
    cause: 'A rate limit in the traffic policy of the endpoint is exceeded.',
    next: 'Try again after the number of seconds in `Retry-After`.',
    text: () => 'Too many requests. Try again later.',
  },
  call_failed: {
    code: 3600,
    status: 502,
    cause: 'The traffic policy of the endpoint calls another server before it responds, and the call failed.',
    next: 'Its owner has to check that server, or allow it with `--outbound-allow`.',
    text: (reason: string) => `A server that this endpoint depends on could not be called: ${reason}.`,
  },
  call_too_large: {
    code: 3601,
    status: 502,
    cause: 'A server that the traffic policy of the endpoint calls sends a response that is too large.',
    next: 'Its owner has to call a URL with a shorter response.',
    text: (limit: string) => `A server that this endpoint depends on sent more than ${limit}.`,
  },
  call_timeout: {
    code: 3602,
    status: 504,
    cause: 'A server that the traffic policy of the endpoint calls did not respond in time.',
    next: 'Its owner has to check that server, or raise `timeout` of the action.',
    text: () => 'A server that this endpoint depends on did not respond in time.',
  },
  call_loop: {
    code: 3603,
    status: 508,
    cause: 'Calls of traffic policies lead back to themselves.',
    next: 'Its owner has to change the URL of the `http-request` action.',
    text: () => 'The calls of the traffic policy of this endpoint lead back to it.',
  },
  binding_request_invalid: {
    code: 3700,
    status: 400,
    cause:
      'A Kubernetes cluster sent something other than a request for a service, or a request that is too long.',
    next: 'Check that it is the operator that connects, not another program; if so, update it.',
    text: (reason: string) => `The request for a service was not understood: ${reason}.`,
  },
  operator_unknown: {
    code: 3701,
    status: 401,
    cause:
      'The client certificate of a Kubernetes cluster is not the current one of an operator with the feature `bindings`: it was replaced, was not issued here, or its operator was deleted.',
    next: 'Restart the operator, which then registers and gets a new certificate.',
    text: () =>
      'This certificate is not the current one of a Kubernetes operator with the feature bindings. Restart the operator to get a new certificate.',
  },
  operator_certificate_expired: {
    code: 3702,
    status: 401,
    cause: 'The client certificate of a Kubernetes operator has expired.',
    next: 'Check that the operator is running and can reach the API: it renews its certificate 30 days before expiry.',
    text: () => 'The certificate of this Kubernetes operator has expired. Check that it can reach the API.',
  },
  service_not_found: {
    code: 3703,
    status: 404,
    cause:
      'No endpoint with the binding `kubernetes` is online at the address that a Kubernetes cluster asked for, or no selector of its operator selects it.',
    next: 'Start the agent of that endpoint, or change `endpoint_selectors` of the operator.',
    text: (address: string) => `No endpoint that this Kubernetes operator selects is online at ${address}.`,
  },
  service_unreachable: {
    code: 3704,
    status: 502,
    cause: 'The agent of an endpoint that is bound to a Kubernetes cluster accepts no connections right now.',
    next: 'Check the agent of that endpoint.',
    text: (address: string) =>
      `The endpoint at ${address} accepts no connections right now. Check its agent.`,
  },
  no_upstream: {
    code: 6029,
    status: 503,
    cause:
      'The traffic policy of a cloud endpoint did not end the request, and a cloud endpoint has no upstream.',
    next: 'Its owner has to add a rule that ends every request.',
    text: (host: string) => `The traffic policy of ${host} did not respond to this request.`,
  },
  no_backend: {
    code: 6528,
    status: 503,
    cause: "None of the edge's backends is online.",
    next: 'Start an agent with the labels of the backend.',
    text: (host: string) => `No backend of ${host} is online.`,
  },
  api_offline: {
    code: 6529,
    status: 503,
    cause:
      'No node that runs the management API can be reached: it is starting or stopping, or none is online.',
    next: 'Try again in a moment.',
    text: (host: string) => `The server behind ${host} is starting or stopping. Try again in a moment.`,
  },

  // Behind the tunnel.
  agent_offline: {
    code: 8011,
    status: 502,
    cause: 'The agent went offline during the request.',
    next: 'Try again; it reconnects automatically.',
    text: (host: string) => `The agent that serves ${host} went offline during the request.`,
  },
  upstream_refused: {
    code: 8012,
    status: 502,
    cause: 'The agent could not connect to its upstream. The page says why, but not where the upstream is.',
    next: 'Follow the page; the log and the inspector of the agent name the address too.',
    text: (host: string, reason: string) =>
      `The agent of ${host} could not connect to its upstream: ${reason}.`,
  },
  upstream_closed: {
    code: 8016,
    status: 502,
    cause: 'The upstream closed the connection before its response was complete.',
    next: 'Look at the log of the service. If it expects TLS, begin its address with `https://`: `adit http https://localhost:8443`.',
    text: (host: string) => `The upstream of ${host} closed the connection before its response was complete.`,
  },
  upstream_broken: {
    code: 8013,
    status: 502,
    cause: 'The upstream sent an invalid HTTP response.',
    next: 'Check that it speaks HTTP, and whether it requires TLS.',
    text: (host: string, reason: string) =>
      `The upstream of ${host} sent an invalid HTTP response: ${reason}.`,
  },
  upstream_timeout: {
    code: 8014,
    status: 504,
    cause: 'The upstream did not respond in time; the page says how long the server waited.',
    next: 'Check the upstream, or allow it more time with the action `response-timeout` of a traffic policy.',
    text: (host: string, failure: string) => `The upstream of ${host} ${failure}.`,
  },
  too_busy: {
    code: 8015,
    status: 503,
    cause: 'The endpoint has too many connections right now.',
    next: 'Try again shortly.',
    text: (host: string) => `${host} has too many connections right now. Try again shortly.`,
  },
  internal: {
    code: 3199,
    status: 500,
    cause: 'Internal server error.',
    next: 'Report the ID on the page to the operator, who can find it in the log.',
    text: (id: string) => `Something went wrong. If it happens again, report the ID ${id}.`,
  },
} satisfies Record<string, ErrorKind>

/** The names of all errors of public traffic. */
export type EdgeErrorName = keyof typeof errorKinds

type ErrorParams<N extends EdgeErrorName> = Parameters<(typeof errorKinds)[N]['text']>

/** A link of an error page. */
export interface ErrorLink {
  readonly text: string
  readonly url: string
}

/** Why the edge rejected a request or connection. Not an `Error`: rejecting is routine and needs no stack trace. */
export class EdgeError {
  readonly name: EdgeErrorName
  readonly text: string
  /** Seconds after which a retry makes sense; sent as `Retry-After` where one does. */
  retryAfter = 5
  /** True when the connection is closed without a response. */
  closesConnection = false
  /** The name that browsers show when they ask for a password. */
  realm = 'adit'
  /** What the owner can change, where more is known than the name of the error says. */
  ownerStep: string | undefined
  /** Where the visitor can go on. */
  links: readonly ErrorLink[] = []
  /** The upstream that failed. Its address is private: it goes to the log, never to the client. */
  upstream: string | undefined

  constructor(name: EdgeErrorName, text: string) {
    this.name = name
    this.text = text
  }

  /** Sets the seconds after which a retry makes sense. */
  withRetryAfter(seconds: number): this {
    this.retryAfter = seconds
    return this
  }

  /** Closes the connection without a response. */
  closingConnection(): this {
    this.closesConnection = true
    return this
  }

  /** Sets the name that browsers show when they ask for a password. */
  withRealm(realm: string): this {
    this.realm = realm
    return this
  }

  /** Says what the owner can change. */
  withOwnerStep(ownerStep: string): this {
    this.ownerStep = ownerStep
    return this
  }

  /** Adds where the visitor can go on. */
  withLinks(links: readonly ErrorLink[]): this {
    this.links = links
    return this
  }

  /** Names the upstream that failed. */
  withUpstream(upstream: string): this {
    this.upstream = upstream
    return this
  }

  get status(): number {
    return errorKinds[this.name].status
  }

  /** The public code, such as `ERR_ADIT_3200`, in the header and on the page. */
  get code(): string {
    return `ERR_ADIT_${errorKinds[this.name].code}`
  }
}

/** Creates an error to throw; a wrong name or a missing parameter does not compile. */
export function edgeError<N extends EdgeErrorName>(name: N, ...params: ErrorParams<N>): EdgeError {
  const text = errorKinds[name].text as (...params: readonly string[]) => string
  return new EdgeError(name, text(...params))
}

/** Every error with its code and status, for the documentation and the test that keeps it complete. */
export const edgeErrorKinds: Readonly<Record<EdgeErrorName, Readonly<ErrorKind>>> = errorKinds

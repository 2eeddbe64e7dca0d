import type { EdgeErrorName } from '../errors.ts'

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

const CHECK_CLIENT = 'Reload the page. If you use a program, correct the request it sends.'
const ASK_OWNER = 'If you think you should have access, contact the owner of this site.'
const TRY_AGAIN = 'Wait a moment, then reload the page.'
const OPEN_AGAIN = 'Wait a moment, then open the page again.'

/** The texts of every error page. */
export const errorPageTexts: Readonly<Record<EdgeErrorName, ErrorPageTexts>> = {
  bad_request: { title: 'Invalid request', visitor: CHECK_CLIENT },
  head_too_large: {
    title: 'Request headers too large',
    visitor: 'Delete the cookies of this site in your browser, then reload the page.',
    owner: 'Set fewer or smaller cookies.',
  },
  target_too_long: {
    title: 'Address too long',
    visitor: 'Open a shorter address.',
    owner: 'Send data in the request body instead of the URL.',
  },
  version_unsupported: { title: 'HTTP version not supported', visitor: 'Use a current browser.' },
  method_refused: { title: 'Method not allowed', visitor: CHECK_CLIENT },
  expectation_failed: { title: 'Expectation not supported', visitor: CHECK_CLIENT },
  head_timeout: { title: 'Request timed out', visitor: 'Check your connection, then reload the page.' },
  misdirected: { title: 'Wrong connection', visitor: 'Reload the page.' },
  ambiguous_path: { title: 'Ambiguous path', visitor: 'Check the address for repeated slashes and dots.' },
  body_timeout: { title: 'Upload timed out', visitor: 'Check your connection, then try again.' },
  body_too_large: { title: 'Upload too large', visitor: 'Send less data.' },
  too_many_bodies: { title: 'Too many transfers', visitor: TRY_AGAIN },
  certificate_at_proxy: {
    title: 'Client certificate missing',
    visitor: ASK_OWNER,
    owner: 'Configure the proxy in front of the server to forward TLS unchanged.',
  },
  endpoint_not_found: {
    title: 'Nothing is online at this address',
    visitor: 'Check the address for typing errors. If it is right, try again later.',
    owner: 'Start the agent for this name, or create an edge for it.',
    stoppedAt: 'agent',
  },
  breaker_open: {
    title: 'This site is having problems',
    visitor: TRY_AGAIN,
    owner: 'Look at the errors of the service. The circuit breaker closes automatically when they stop.',
    stoppedAt: 'service',
  },
  address_denied: {
    title: 'Access denied',
    visitor: ASK_OWNER,
    owner: 'Add a rule for this address to the IP policy of the endpoint.',
  },
  webhook_denied: {
    title: 'Webhook signature invalid',
    visitor: 'This address accepts only signed webhooks.',
    owner: 'Compare the provider and the secret of the webhook module with those of the sender.',
  },
  token_missing: {
    title: 'Token required',
    visitor: 'Send a token that the owner of this address issued.',
    owner: 'Check where the jwt-validation action of the traffic policy looks for the token.',
  },
  token_denied: {
    title: 'Token not accepted',
    visitor: 'Get a new token from its issuer.',
    owner: 'Compare the issuer, audience and keys of the jwt-validation action with those of the token.',
  },
  call_failed: {
    title: 'Not available right now',
    visitor: 'Try again in a moment.',
    owner: 'Check the server that the http-request action of the traffic policy calls.',
  },
  call_too_large: {
    title: 'Not available right now',
    visitor: ASK_OWNER,
    owner: 'Change the http-request action of the traffic policy to call a URL with a shorter response.',
  },
  call_timeout: {
    title: 'Not available right now',
    visitor: 'Try again in a moment.',
    owner: 'Check the server that the http-request action of the traffic policy calls, or raise its timeout.',
  },
  call_loop: {
    title: 'Too many calls',
    visitor: ASK_OWNER,
    owner:
      'Change the URL of the http-request action of the traffic policy, which leads back to this address.',
  },
  account_address_denied: {
    title: 'Access denied',
    visitor: ASK_OWNER,
    owner: 'Add a rule for this address to the IP restriction of the account.',
  },
  not_websocket: {
    title: 'WebSocket only',
    visitor: 'Use a WebSocket client.',
  },
  login_required: { title: 'Sign-in required', visitor: 'Open the page in a browser and sign in.' },
  login_unavailable: {
    title: 'Sign-in is unavailable',
    visitor: OPEN_AGAIN,
    owner: 'If it persists, the operator of the server has to check its database.',
    stoppedAt: 'server',
  },
  login_provider_unavailable: {
    title: 'The identity provider does not respond',
    visitor: OPEN_AGAIN,
    owner: 'Check that the identity provider is running and that the server can reach it.',
  },
  login_busy: { title: 'Sign-in is busy', visitor: OPEN_AGAIN },
  too_many_logins: { title: 'Too many failed sign-ins', visitor: 'Wait a few minutes, then try again.' },
  login_denied: {
    title: 'Access denied',
    visitor: 'Sign in with another account, or ask the owner of this site for access.',
    owner: 'Change who is allowed in the sign-in module or policy of the endpoint.',
  },
  login_failed: { title: 'Sign-in not completed', visitor: 'Open the page again to start a new sign-in.' },
  login_misconfigured: {
    title: 'Sign-in is misconfigured',
    visitor: 'Tell the owner of this site. They can see the reason.',
    owner: 'Your dashboard and the log of the server name the reason and the setting.',
  },
  credentials_required: {
    title: 'Password required',
    visitor: 'Reload the page, then enter the user name and password that the owner of this site gave you.',
  },
  route_not_found: {
    title: 'Page not found',
    visitor: 'Check the address for typing errors, or start at the home page.',
    owner: 'Add a route for this path to the edge.',
  },
  user_agent_denied: {
    title: 'Access denied',
    visitor: 'Use another browser. If that does not help, contact the owner of this site.',
    owner: 'Change the user agent filter of the endpoint.',
  },
  cookie_domain_invalid: {
    title: 'This site is misconfigured',
    visitor: 'Try again later, or tell the owner of this site.',
    owner: 'Reserve the auth_cookie_domain of the traffic policy, or change it.',
    stoppedAt: 'server',
  },
  module_broken: {
    title: 'This site is misconfigured',
    visitor: 'Try again later, or tell the owner of this site.',
    owner: 'Open the edge in the dashboard, which names what the module lacks.',
    stoppedAt: 'server',
  },
  policy_failed: {
    title: 'This site is misconfigured',
    visitor: 'Try again later, or tell the owner of this site.',
    owner: 'Check the expressions of the traffic policy; the log of the server has the reason.',
    stoppedAt: 'server',
  },
  rule_undecided: {
    title: 'Access denied',
    visitor: ASK_OWNER,
    owner:
      'Correct the expression of the traffic policy: test with has() or in before reading what may be absent.',
  },
  policy_denied: {
    title: 'Access denied',
    visitor: ASK_OWNER,
    owner: 'Change the rule of the traffic policy that denies this request.',
  },
  internal_not_found: {
    title: 'A part of this site is offline',
    visitor: TRY_AGAIN,
    owner: 'Start the agent of the internal endpoint, or correct the URL of forward-internal.',
    stoppedAt: 'agent',
  },
  internal_unreachable: {
    title: 'A part of this site is offline',
    visitor: TRY_AGAIN,
    owner: 'Check the agent of the internal endpoint: it accepts no connections right now.',
    stoppedAt: 'agent',
  },
  binding_request_invalid: { title: 'Invalid request from a cluster', visitor: CHECK_CLIENT },
  operator_unknown: {
    title: 'Unknown Kubernetes operator',
    visitor: ASK_OWNER,
    owner: 'Restart the operator to get a new certificate.',
  },
  operator_certificate_expired: {
    title: 'Kubernetes operator certificate expired',
    visitor: ASK_OWNER,
    owner: 'Check that the operator can reach the API.',
  },
  service_not_found: {
    title: 'Nothing is online for this service',
    visitor: TRY_AGAIN,
    owner: 'Start the agent of the endpoint, or change the selectors of the operator.',
    stoppedAt: 'agent',
  },
  service_unreachable: {
    title: 'This service is offline',
    visitor: TRY_AGAIN,
    owner: 'Check the agent of the endpoint: it accepts no connections right now.',
    stoppedAt: 'agent',
  },
  tls_terminated: {
    title: 'This site forwards without TLS',
    visitor: 'Contact the owner of this site.',
    owner: 'Forward to a tcp endpoint, or terminate TLS in only one of the two policies.',
    stoppedAt: 'server',
  },
  too_many_forwards: {
    title: 'This site forwards in a loop',
    visitor: 'Contact the owner of this site.',
    owner: 'Look for traffic policies whose forward-internal actions lead back to each other.',
    stoppedAt: 'server',
  },
  rate_limited: {
    title: 'Too many requests',
    visitor: 'Wait a moment, then reload the page.',
    owner: 'Change the rate limit in the traffic policy of the endpoint.',
  },
  no_upstream: {
    title: 'This site does not respond',
    visitor: 'Contact the owner of this site.',
    owner: 'Change the traffic policy of the cloud endpoint to end every request.',
    stoppedAt: 'server',
  },
  no_backend: {
    title: 'This site is offline',
    visitor: 'Try again later.',
    owner: 'Start an agent with the labels of the backend, or change the backend.',
    stoppedAt: 'agent',
  },
  api_offline: {
    title: 'The server is starting or stopping',
    visitor: TRY_AGAIN,
    stoppedAt: 'server',
  },
  agent_offline: {
    title: 'The connection to this site was lost',
    visitor: TRY_AGAIN,
    owner: 'Check the network of the agent; it reconnects automatically.',
    stoppedAt: 'agent',
  },
  upstream_refused: {
    title: 'This site does not respond',
    visitor: 'Try again later.',
    owner: 'Check the address of the service; the log and the inspector of the agent name it.',
    stoppedAt: 'service',
  },
  upstream_closed: {
    title: 'This site does not respond',
    visitor: 'Try again later.',
    owner:
      'Look at the log of the service. If it expects TLS, begin its address with `https://`: `adit http https://localhost:8443`.',
    stoppedAt: 'service',
  },
  upstream_broken: {
    title: 'This site sent an invalid response',
    visitor: 'Try again later, or tell the owner of this site.',
    owner: 'Check that the service speaks HTTP on its port, and whether it requires TLS.',
    stoppedAt: 'service',
  },
  upstream_timeout: {
    title: 'This site took too long to respond',
    visitor: 'Reload the page, or try again later.',
    owner:
      'Find out what keeps the service from responding, or allow it more time with the action response-timeout of a traffic policy.',
    stoppedAt: 'service',
  },
  too_busy: {
    title: 'This site is busy',
    visitor: TRY_AGAIN,
    owner: 'Start a second agent for the endpoint, or find what keeps connections open.',
    stoppedAt: 'agent',
  },
  internal: {
    title: 'Something went wrong',
    visitor: 'Reload the page. If it happens again, report the ID above.',
    owner: 'The operator of the server can find the ID in its log.',
    stoppedAt: 'server',
  },
}

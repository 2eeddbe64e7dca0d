/** How one kind of refusal shows: its number, its status and the sentence for the visitor. */
interface ErrorKind {
  readonly code: number
  readonly status: number
  readonly text: (...facts: never[]) => string
}

const errorKinds = {
  // What a visitor sent that we do not pass on.
  bad_request: {
    code: 3100,
    status: 400,
    text: (why: string) => `The request was not forwarded: ${why}.`,
  },
  head_too_large: {
    code: 3101,
    status: 431,
    text: () => 'The head of the request is too large. Send fewer or shorter header fields.',
  },
  target_too_long: { code: 3102, status: 414, text: () => 'The address that was asked for is too long.' },
  version_unsupported: {
    code: 3103,
    status: 505,
    text: () => 'This HTTP version is not spoken here. Use HTTP/1.1, or HTTP/2 over TLS.',
  },
  method_refused: {
    code: 3104,
    status: 405,
    text: (method: string) => `Requests with the method ${method} are not forwarded.`,
  },
  expectation_failed: {
    code: 3105,
    status: 417,
    text: () => 'The only expectation that can be met is 100-continue.',
  },
  head_timeout: { code: 3106, status: 408, text: () => 'The request did not arrive in time.' },
  misdirected: {
    code: 3107,
    status: 421,
    text: (host: string) =>
      `This connection was not made for ${host}, whose TLS settings differ. Open a new connection.`,
  },
  ambiguous_path: {
    code: 3108,
    status: 400,
    text: () =>
      'The path can be read in more than one way. Send it without dot segments, doubled or encoded slashes.',
  },
  body_timeout: { code: 3109, status: 408, text: () => 'The request body stopped arriving.' },
  body_too_large: {
    code: 3110,
    status: 413,
    text: (limit: string) => `The request body is larger than the ${limit} that can be checked here.`,
  },
  too_many_bodies: {
    code: 3111,
    status: 503,
    text: () => 'Too many request bodies are being checked at the moment. Try again shortly.',
  },

  // Nobody there, or not for this visitor.
  endpoint_not_found: { code: 3200, status: 404, text: (host: string) => `Tunnel ${host} not found` },
  breaker_open: {
    code: 3202,
    status: 503,
    text: (host: string) =>
      `The circuit breaker of ${host} is open after too many errors. Try again shortly.`,
  },
  address_denied: {
    code: 3203,
    status: 403,
    text: (address: string) => `The IP policy of this endpoint does not admit ${address}.`,
  },
  webhook_denied: {
    code: 3204,
    status: 403,
    text: (why: string) => `The webhook could not be verified: ${why}.`,
  },
  account_address_denied: {
    code: 3205,
    status: 403,
    text: (address: string) => `The IP restrictions of this account do not admit ${address}.`,
  },
  not_websocket: { code: 3206, status: 400, text: () => 'This endpoint speaks WebSocket only.' },
  login_required: {
    code: 3213,
    status: 401,
    text: () => 'You have to sign in first. Open the page in a browser.',
  },
  login_unavailable: {
    code: 3214,
    status: 503,
    text: () =>
      'Nobody can sign in or out right now, because that cannot be remembered. Try again in a moment.',
  },
  login_provider_unavailable: {
    code: 3216,
    status: 502,
    text: () =>
      'The identity provider of this page cannot be reached or does not answer in time. Try again in a moment.',
  },
  login_busy: {
    code: 3218,
    status: 503,
    text: () => 'Too many sign-ins have to be checked right now. Open the page again in a moment.',
  },
  too_many_logins: {
    code: 3219,
    status: 429,
    text: () => 'Too many sign-ins that were not valid came from this address. Try again later.',
  },
  login_denied: { code: 3207, status: 403, text: (why: string) => `You are not allowed in: ${why}.` },
  credentials_required: {
    code: 3208,
    status: 401,
    // Scripts look for the first two words.
    text: () => '401 Unauthorized: this endpoint asks for a user name and a password.',
  },
  route_not_found: {
    code: 3209,
    status: 404,
    text: (host: string) => `No route of ${host} serves this path.`,
  },
  user_agent_denied: { code: 3211, status: 403, text: () => 'This user agent is not admitted.' },
  module_broken: {
    code: 3212,
    status: 503,
    text: (module: string) =>
      `The ${module} module of this endpoint is missing something it needs, so nobody is let in. Tell its owner.`,
  },
  no_backend: {
    code: 6528,
    status: 503,
    text: (host: string) => `No backend of ${host} is online.`,
  },

  // Behind the tunnel.
  agent_offline: {
    code: 8011,
    status: 502,
    text: (host: string) => `The agent that serves ${host} went offline during the request.`,
  },
  upstream_refused: {
    code: 8012,
    status: 502,
    text: (host: string) =>
      `The agent serves ${host} but could not get an answer from its upstream. Check that it is running.`,
  },
  upstream_broken: {
    code: 8013,
    status: 502,
    text: (host: string, why: string) => `The upstream of ${host} did not answer in valid HTTP: ${why}.`,
  },
  upstream_timeout: {
    code: 8014,
    status: 504,
    text: (host: string) => `The upstream of ${host} did not answer in time.`,
  },
  too_busy: {
    code: 8015,
    status: 503,
    text: (host: string) => `${host} has too many connections at the moment. Try again shortly.`,
  },
  internal: {
    code: 3199,
    status: 500,
    text: (id: string) => `Something went wrong here. If it stays, report the number ${id}.`,
  },
} satisfies Record<string, ErrorKind>

/** The names of all refusals of public traffic. */
export type EdgeErrorName = keyof typeof errorKinds

type ErrorParams<N extends EdgeErrorName> = Parameters<(typeof errorKinds)[N]['text']>

/** Why a visitor was turned away. Not an `Error`: refusing is everyday work and needs no stack trace. */
export class Refusal {
  readonly name: EdgeErrorName
  readonly text: string
  /** Seconds after which it makes sense to come back, for those who should. */
  retryAfter = 5
  /** The upstream that failed. Its address is private: it goes to the log, never to the visitor. */
  upstream: string | undefined

  constructor(name: EdgeErrorName, text: string) {
    this.name = name
    this.text = text
  }

  /** The same, with another time to come back. */
  for(seconds: number): this {
    this.retryAfter = seconds
    return this
  }

  /** The same, about this upstream. */
  withUpstream(upstream: string): this {
    this.upstream = upstream
    return this
  }

  get status(): number {
    return errorKinds[this.name].status
  }

  /** `ERR_ADIT_3200` and the like, as shown in the header and on the page. */
  get code(): string {
    return `ERR_ADIT_${errorKinds[this.name].code}`
  }
}

/** Makes a refusal to be thrown; a wrong name or a missing fact does not compile. */
export function refusal<N extends EdgeErrorName>(name: N, ...facts: ErrorParams<N>): Refusal {
  const text = errorKinds[name].text as (...facts: readonly string[]) => string
  return new Refusal(name, text(...facts))
}

/** Every refusal with its code and status, for the documentation and the test that holds it. */
export const refusalKinds: Readonly<Record<EdgeErrorName, Readonly<ErrorKind>>> = errorKinds

/** An API error: a code, a status and a sentence for people, with machine-readable facts in `details`. */
export class Problem extends Error {
  override name = 'Problem'
  readonly code: number
  readonly status: number
  readonly details: Readonly<Record<string, string>>

  constructor(code: number, status: number, text: string, details: Record<string, string> = {}) {
    super(text)
    this.code = code
    this.status = status
    this.details = details
  }

  /** A copy with additional details. */
  with(details: Record<string, string>): Problem {
    return new Problem(this.code, this.status, this.message, { ...this.details, ...details })
  }
}

interface ProblemDefinition {
  readonly code: number
  readonly status: number
  readonly text: (...facts: never[]) => string
}

/**
 * Every error of the management API. Codes match the original service where it has one for the same cause.
 * docs/errors.md explains each code; a test compares the two lists.
 */
export const catalogue = {
  no_key: {
    code: 200,
    status: 401,
    text: () => 'This call needs an API key: send the header "Authorization: Bearer <API key>".',
  },
  bad_authorization: {
    code: 201,
    status: 401,
    text: () => 'The Authorization header is not of the form "Bearer <API key>".',
  },
  unknown_key: {
    code: 203,
    status: 401,
    text: () => 'This API key is not known. It may have been deleted; create one with POST /api_keys.',
  },
  authtoken_as_key: {
    code: 206,
    status: 401,
    text: () => 'This is an authtoken of an agent, not an API key. Create an API key with POST /api_keys.',
  },
  sign_in_failed: {
    code: 240,
    status: 401,
    text: () => 'There is no user with this email address and password.',
  },
  code_needed: {
    code: 241,
    status: 401,
    text: () => 'This user has a second factor. Enter the current code from the authenticator app.',
  },
  code_wrong: {
    code: 242,
    status: 401,
    text: () => 'The code is wrong or was used already. Wait for the next one in the app.',
  },
  signed_out: {
    code: 243,
    status: 401,
    text: () => 'You are signed out: the session has ended. Sign in again.',
  },
  no_csrf: {
    code: 244,
    status: 401,
    text: () =>
      'A session cookie is accepted only together with its token in the header adit-csrf; GET /dashboard/api/session returns it.',
  },
  foreign_site: {
    code: 245,
    status: 403,
    text: () => 'Calls with a session cookie must come from the pages of the dashboard itself.',
  },
  dashboard_only: {
    code: 246,
    status: 403,
    text: () => 'This can only be done by a user who has signed in to the dashboard.',
  },
  content_type: {
    code: 210,
    status: 415,
    text: (contentType: string | undefined) =>
      `The body needs the header "Content-Type: application/json", ${contentType === undefined ? 'which is missing' : `not ${contentType}`}.`,
  },
  body_unexpected: {
    code: 211,
    status: 400,
    text: (method: string) => `A ${method} request must not have a body.`,
  },
  malformed_json: {
    code: 213,
    status: 400,
    text: (reason: string) => `The body is not valid JSON: ${reason}`,
  },
  unknown_field: {
    code: 214,
    status: 400,
    text: (field: string, allowed: string) =>
      `There is no field "${field}" here. Allowed fields: ${allowed}.`,
  },
  invalid_field: { code: 215, status: 400, text: (sentence: string) => sentence },
  version: {
    code: 217,
    status: 400,
    text: (version: string) => `Service-Version ${version} is not supported; the only version is 2.`,
  },
  address_refused: {
    code: 220,
    status: 403,
    text: (address: string) => `The account's IP restrictions do not let ${address} use the API.`,
  },
  malformed_id: {
    code: 222,
    status: 404,
    text: (what: string, id: string) => `"${id}" is not the id of ${what}.`,
  },
  no_such_reference: {
    code: 223,
    status: 400,
    text: (field: string, id: string) => `${field}: there is no ${id}.`,
  },
  too_many_requests: {
    code: 226,
    status: 429,
    text: (seconds: number) => `Too many requests. Try again in ${seconds} seconds.`,
  },
  unknown_parameter: {
    code: 231,
    status: 400,
    text: (name: string, allowed: string) =>
      `There is no query parameter "${name}" here. Allowed parameters: ${allowed}.`,
  },
  repeated_parameter: {
    code: 232,
    status: 400,
    text: (name: string) => `The query parameter "${name}" is given more than once.`,
  },
  bad_limit: {
    code: 233,
    status: 400,
    text: (limit: string) => `limit must be a whole number from 1 to 100, not "${limit}".`,
  },
  bad_page: {
    code: 234,
    status: 400,
    text: (id: string) => `before_id "${id}" is not an id of this list.`,
  },
  unknown_event_source: {
    code: 5125,
    status: 404,
    text: (type: string) => `The subscription has no source of type ${type}.`,
  },
  test_event_failed: {
    code: 5132,
    status: 400,
    text: (reason: string) => `The destination did not take the test event: ${reason}`,
  },
  target_kind_fixed: {
    code: 5108,
    status: 400,
    text: () => 'The kind of target cannot be changed; create another destination.',
  },
  other_owner: {
    code: 630,
    status: 403,
    text: () => 'Only administrators may name an owner other than themselves.',
  },
  read_only: {
    code: 635,
    status: 403,
    text: () => 'The role of this user is read_only: it may read but not change anything.',
  },
  inactive: {
    code: 636,
    status: 403,
    text: () => 'This user is deactivated. An administrator can activate them again.',
  },
  guarded: {
    code: 638,
    status: 403,
    text: (when: string) => `Only administrators may change this: ${when}.`,
  },
  admins_only: { code: 4111, status: 403, text: () => 'Only administrators may do this.' },
  not_found: {
    code: 404,
    status: 404,
    text: (what: string, id: string) => `There is no ${what} with the id ${id}.`,
  },
  module_unset: {
    code: 7020,
    status: 404,
    text: (module: string, id: string) => `${id} has no ${module} module.`,
  },
  no_route: {
    code: 405,
    status: 404,
    text: (path: string) => `There is nothing at ${path}. GET /openapi.json lists every route.`,
  },
  method: {
    code: 406,
    status: 405,
    text: (method: string, path: string, allowed: string) =>
      `${method} is not possible on ${path}; allowed: ${allowed}.`,
  },
  taken: { code: 413, status: 409, text: (sentence: string) => sentence },
  in_use: {
    code: 446,
    status: 409,
    text: (what: string, id: string, by: string) =>
      `The ${what} ${id} is still used by ${by}. Remove that first.`,
  },
  conflict: { code: 447, status: 409, text: (sentence: string) => sentence },
  too_large: { code: 415, status: 413, text: (limit: number) => `The body is larger than ${limit} bytes.` },
  both_certificates: {
    code: 434,
    status: 400,
    text: () => 'certificate_id and certificate_management_policy exclude each other; give one of them.',
  },
  command_unsupported: { code: 804, status: 400, text: (reason: string) => `The agent refused: ${reason}` },
  command_failed: {
    code: 807,
    status: 400,
    text: (reason: string) => `The agent could not do it: ${reason}`,
  },
  command_lost: {
    code: 810,
    status: 503,
    text: () => 'The agent did not answer in time. It may have lost its connection; try again.',
  },
  storage: {
    code: 1500,
    status: 503,
    text: () => 'The database is unavailable, and nothing was changed. Try again later.',
  },
  too_many_bodies: {
    code: 1501,
    status: 503,
    text: () => 'Too many requests are sending their bodies at the moment. Try again shortly.',
  },
  head_too_large: { code: 431, status: 431, text: () => 'The headers of the request are too large.' },
  timeout: { code: 408, status: 408, text: () => 'The request took too long to arrive.' },
  bad_request: {
    code: 400,
    status: 400,
    text: (reason: string) => `The request could not be read: ${reason}`,
  },
  internal: {
    code: 500,
    status: 500,
    text: (id: string) => `Internal error. The server's log has the details under ${id}.`,
  },
} as const satisfies Record<string, ProblemDefinition>

type Catalogue = typeof catalogue
export type ProblemName = keyof Catalogue

/** Creates a problem; an unknown name or a missing argument does not compile. */
export function problem<N extends ProblemName>(name: N, ...facts: Parameters<Catalogue[N]['text']>): Problem {
  const { code, status, text } = catalogue[name]
  return new Problem(code, status, (text as (...values: unknown[]) => string)(...facts))
}

/** The same, with the invalid field in `details`. */
export function fieldProblem<N extends ProblemName>(
  field: string,
  name: N,
  ...facts: Parameters<Catalogue[N]['text']>
): Problem {
  return problem(name, ...facts).with({ field })
}

import type { ErrorExplanation } from '../base/text/error-explanation.ts'

/** An API error: a code, a status and a sentence for people, with machine-readable values in `details`. */
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

interface ProblemDefinition extends ErrorExplanation {
  readonly code: number
  readonly status: number
  readonly text: (...args: never[]) => string
}

/**
 * Every error of the management API. Codes match the original service where it has one for the same cause.
 * docs/errors.md is generated from these declarations.
 */
export const catalogue = {
  no_key: {
    code: 200,
    status: 401,
    cause: 'The request has no `Authorization` header.',
    next: 'Send `Authorization: Bearer <API key>`.',
    text: () => 'This call needs an API key: send the header "Authorization: Bearer <API key>".',
  },
  bad_authorization: {
    code: 201,
    status: 401,
    cause: 'The `Authorization` header does not have the form `Bearer <API key>`.',
    next: 'Write `Bearer`, a space and the token of an API key, nothing else.',
    text: () => 'The Authorization header must have the form "Bearer <API key>".',
  },
  unknown_key: {
    code: 203,
    status: 401,
    cause: 'No API key has this token: it was deleted, or never existed.',
    next: 'Check for copying mistakes, or create a new key with `POST /api_keys`.',
    text: () => 'Unknown API key. It may have been deleted; create one with POST /api_keys.',
  },
  authtoken_as_key: {
    code: 206,
    status: 401,
    cause: 'The token is an authtoken, which lets agents connect and cannot call the API.',
    next: 'Use the token of an API key.',
    text: () => 'This is an authtoken of an agent, not an API key. Create an API key with POST /api_keys.',
  },
  sign_in_failed: {
    code: 240,
    status: 401,
    cause: 'Signing in to the dashboard: no user has this email address and this password.',
    next: 'Check both; `adit server user password EMAIL` sets a new password.',
    text: () => 'There is no user with this email address and password.',
  },
  code_needed: {
    code: 241,
    status: 401,
    cause:
      'Signing in: the password is correct, and a code of the second factor is required; `details.code_needed` is `true`.',
    next: 'Send the same request with `code`.',
    text: () => 'This user has a second factor. Enter the current code from the authenticator app.',
  },
  code_wrong: {
    code: 242,
    status: 401,
    cause: 'Signing in: the code is wrong, too old or was used before; `details.code_needed` is `true`.',
    next: 'Wait for the next code; check the clock of the device that shows it.',
    text: () => 'The code is wrong or has already been used. Wait for the next one in the app.',
  },
  signed_out: {
    code: 243,
    status: 401,
    cause:
      'The browser session has ended: signed out, unused for 12 hours, 7 days old, password changed, user disabled or API key deleted.',
    next: 'Sign in again.',
    text: () => 'You are signed out: the session has ended. Sign in again.',
  },
  no_csrf: {
    code: 244,
    status: 401,
    cause: "A request with the session's cookie has no `x-csrf-token` header, or that of another session.",
    next: 'Send the token that `GET /dashboard/api/session` returns; programs use an API key.',
    text: () =>
      'A session cookie is accepted only together with its token in the header x-csrf-token; GET /dashboard/api/session returns it.',
  },
  foreign_site: {
    code: 245,
    status: 403,
    cause: "A request with the session's cookie, or a sign-in, comes from the page of another site.",
    next: "Use the dashboard's own pages; programs use an API key.",
    text: () => 'Calls with a session cookie must come from the pages of the dashboard itself.',
  },
  dashboard_only: {
    code: 246,
    status: 403,
    cause:
      'Passwords and second factors can be changed only by their user in the dashboard, not with an API key.',
    next: 'Sign in to the dashboard.',
    text: () => 'This can only be done by a user who has signed in to the dashboard.',
  },
  link_invalid: {
    code: 247,
    status: 410,
    cause:
      'A one-time link to set a password has already been used, has expired, or was replaced by a newer one.',
    next: 'Create another one on the server with `adit server admin-link EMAIL`.',
    text: () =>
      'This link has already been used, has expired, or was replaced by a newer one. Create another one on the server with adit server admin-link.',
  },
  content_type: {
    code: 210,
    status: 415,
    cause: 'The body is not declared as JSON.',
    next: 'Send `Content-Type: application/json`.',
    text: (contentType: string | undefined) =>
      `The Content-Type of the body must be application/json; ${contentType === undefined ? 'it is missing' : `it is ${contentType}`}.`,
  },
  body_unexpected: {
    code: 211,
    status: 400,
    cause: 'A `GET` or `DELETE` request has a body.',
    next: 'Leave the body out.',
    text: (method: string) => `A ${method} request must not have a body.`,
  },
  malformed_json: {
    code: 213,
    status: 400,
    cause:
      'The body is not JSON: broken syntax, not UTF-8, a key twice in one object, nested more than 32 levels, or a key such as `__proto__`.',
    next: 'Correct what `msg` names.',
    text: (reason: string) => `The body is not valid JSON: ${reason}`,
  },
  unknown_field: {
    code: 214,
    status: 400,
    cause: 'The body has a field that does not exist here; `details.field` names it.',
    next: 'Remove it; `msg` lists the fields that can be given.',
    text: (field: string, allowed: string) =>
      `There is no field "${field}" here. Allowed fields: ${allowed}.`,
  },
  invalid_field: {
    code: 215,
    status: 400,
    cause: 'A field is missing or its value is not allowed; `details.field` names it.',
    next: 'Correct it as `msg` says.',
    text: (sentence: string) => sentence,
  },
  version: {
    code: 217,
    status: 400,
    cause: '`Service-Version` names a version that does not exist.',
    next: 'Send `2`, or leave the header out.',
    text: (version: string) => `Service-Version ${version} is not supported; the only version is 2.`,
  },
  address_refused: {
    code: 220,
    status: 403,
    cause:
      "The account's IP restriction of type `api` does not allow this address; for sessions of the dashboard, also one of type `dashboard`.",
    next: "Call from an allowed address, or ask for a rule in one of the restriction's IP policies.",
    text: (address: string) => `The account's IP restrictions do not allow ${address} to use the API.`,
  },
  malformed_id: {
    code: 222,
    status: 404,
    cause: 'The path does not contain an id of this resource.',
    next: 'Ids have the form `<prefix>_` and 27 letters or digits.',
    text: (what: string, id: string) => `"${id}" is not the id of ${what}.`,
  },
  no_such_reference: {
    code: 223,
    status: 400,
    cause: 'A field refers to an object that does not exist or belongs to another account.',
    next: 'Check the id in the field that `details.field` names.',
    text: (field: string, id: string) => `${field}: there is no ${id}.`,
  },
  too_many_requests: {
    code: 226,
    status: 429,
    cause: 'The account has made too many calls, or this address has tried too many unknown keys.',
    next: 'Wait the number of seconds in `Retry-After`. The operator sets the limit with `--api-rate-limit`.',
    text: (seconds: number) => `Too many requests. Try again in ${seconds} seconds.`,
  },
  unknown_parameter: {
    code: 231,
    status: 400,
    cause: 'The query has a parameter that does not exist here.',
    next: 'Remove it. Lists accept `limit`, `before_id` and `filter`, that of endpoints also `id` and `url`; other operations accept none.',
    text: (name: string, allowed: string) =>
      `There is no query parameter "${name}" here. Allowed parameters: ${allowed}.`,
  },
  too_many_values: {
    code: 251,
    status: 400,
    cause: 'A query parameter has too many values.',
    next: 'Split it across several calls.',
    text: (name: string, max: number) => `The query parameter "${name}" has more than ${max} values.`,
  },
  repeated_parameter: {
    code: 232,
    status: 400,
    cause: 'A query parameter is given more than once.',
    next: 'Give it once.',
    text: (name: string) => `The query parameter "${name}" is given more than once.`,
  },
  bad_limit: {
    code: 233,
    status: 400,
    cause: '`limit` is not a whole number from 1 to 100.',
    next: 'Correct it, or leave it out for 100.',
    text: (limit: string) => `limit must be a whole number from 1 to 100, not "${limit}".`,
  },
  bad_page: {
    code: 234,
    status: 400,
    cause: '`before_id` is not an id of this list.',
    next: 'Follow `next_page_uri` instead of building URLs yourself.',
    text: (id: string) => `before_id "${id}" is not an id of this list.`,
  },
  bad_filter: {
    code: 250,
    status: 400,
    cause: 'The `filter` of a list is not a valid CEL expression over `obj`, or takes too long.',
    next: 'Correct it at the line and column that the message names.',
    text: (reason: string) => `The filter cannot be used: ${reason}.`,
  },
  endpoint_url_invalid: {
    code: 18001,
    status: 400,
    cause: 'The URL of a cloud endpoint cannot be used.',
    next: 'Give a complete URL, such as `https://app.example.com`.',
    text: (sentence: string) => sentence,
  },
  endpoint_port_invalid: {
    code: 18003,
    status: 400,
    cause: 'The URL of a cloud endpoint lacks a port, or has an invalid one.',
    next: 'Give a port from 1 to 65535; `tcp` URLs need one.',
    text: (sentence: string) => sentence,
  },
  endpoint_binding_invalid: {
    code: 18007,
    status: 400,
    cause: 'The binding of a cloud endpoint cannot be used with its URL.',
    next: 'Use one of `public`, `internal` and `kubernetes`; names below `.internal` are internal.',
    text: (sentence: string) => sentence,
  },
  endpoint_policy_missing: {
    code: 18011,
    status: 400,
    cause: 'A cloud endpoint has no traffic policy.',
    next: 'Give one in `traffic_policy` that ends every request or connection.',
    text: (sentence: string) => sentence,
  },
  endpoint_description_long: {
    code: 18012,
    status: 400,
    cause: 'The description of a cloud endpoint is too long.',
    next: 'Use at most 255 bytes.',
    text: (sentence: string) => sentence,
  },
  endpoint_metadata_long: {
    code: 18013,
    status: 400,
    cause: 'The metadata of a cloud endpoint is too long.',
    next: 'Use at most 4096 bytes.',
    text: (sentence: string) => sentence,
  },
  endpoint_field_invalid: {
    code: 18014,
    status: 400,
    cause: 'A field of a cloud endpoint has a value that is not allowed; `details.field` names it.',
    next: 'Correct it as `msg` says.',
    text: (sentence: string) => sentence,
  },
  endpoint_field_missing: {
    code: 18015,
    status: 400,
    cause: 'A cloud endpoint lacks a field; `details.field` names it.',
    next: 'Give the field.',
    text: (sentence: string) => sentence,
  },
  endpoint_scheme_invalid: {
    code: 18022,
    status: 400,
    cause: 'The URL of a cloud endpoint has no scheme, or one that does not exist.',
    next: 'Use `http`, `https`, `tcp` or `tls`.',
    text: (sentence: string) => sentence,
  },
  endpoint_port_fixed: {
    code: 18023,
    status: 400,
    cause: 'The URL of a public cloud endpoint has a port that its scheme does not allow.',
    next: 'Leave the port out; `internal` endpoints may have any.',
    text: (sentence: string) => sentence,
  },
  endpoint_scheme_fixed: {
    code: 18005,
    status: 400,
    cause: 'The scheme of a cloud endpoint cannot be changed.',
    next: 'Create another endpoint.',
    text: (scheme: string) =>
      `url: the scheme ${scheme} of an endpoint cannot be changed; create another endpoint.`,
  },
  endpoint_not_reserved: {
    code: 18006,
    status: 400,
    cause: 'The host of a public cloud endpoint is not a reserved domain or address of the account.',
    next: 'Reserve it with `POST /reserved_domains` or `POST /reserved_addrs`, or use a name below `.internal`.',
    text: (host: string) =>
      host.includes(':')
        ? `url: ${host} is not a reserved address of this account. Reserve one first with POST /reserved_addrs.`
        : `url: ${host} is not a reserved domain of this account. Reserve it first with POST /reserved_domains.`,
  },
  endpoint_pool_closed: {
    code: 18016,
    status: 409,
    cause: 'Another endpoint at this URL does not pool.',
    next: 'Set `pooling_enabled` there, or stop or delete that endpoint.',
    text: (url: string) => `Another endpoint at ${url} does not pool, so it cannot be shared.`,
  },
  endpoint_must_pool: {
    code: 18017,
    status: 409,
    cause: 'Another endpoint is at this URL, and this one does not pool.',
    next: 'Set `pooling_enabled` on all endpoints at the URL, or choose another URL.',
    text: (url: string) =>
      `Another endpoint is already at ${url}; to share it, enable pooling on all of them.`,
  },
  endpoint_kubernetes_proto: {
    code: 18018,
    status: 400,
    cause: 'Endpoints in Kubernetes clusters are http, tls or tcp.',
    next: 'Use one of these schemes, such as `http://service.namespace`.',
    text: (proto: string) => `url: an endpoint in Kubernetes clusters is http, tls or tcp, not ${proto}.`,
  },
  endpoint_and_edge: {
    code: 6027,
    status: 409,
    cause: 'An edge and a cloud endpoint would serve the same host.',
    next: 'Delete one of them, or choose another host.',
    text: (host: string, other: string) => `${host} is already served by ${other}.`,
  },
  unknown_event_source: {
    code: 5125,
    status: 404,
    cause: 'The event subscription has no source of this type.',
    next: 'Add it with `POST /event_subscriptions/{id}/sources`.',
    text: (type: string) => `The subscription has no source of type ${type}.`,
  },
  test_event_failed: {
    code: 5132,
    status: 400,
    cause: 'The event destination did not accept the test event; `msg` says why.',
    next: "Correct the destination's address or credentials and try again.",
    text: (reason: string) => `The destination did not accept the test event: ${reason}`,
  },
  target_kind_fixed: {
    code: 5108,
    status: 400,
    cause: "The kind of an event destination's target cannot be changed.",
    next: 'Create another destination and name it in the subscription.',
    text: () => 'The kind of target cannot be changed; create another destination.',
  },
  other_owner: {
    code: 630,
    status: 403,
    cause: 'A user who is not an administrator named another owner in `owner_id`.',
    next: 'Leave `owner_id` out, or ask an administrator.',
    text: () => 'Only administrators may name an owner other than themselves.',
  },
  read_only: {
    code: 635,
    status: 403,
    cause: 'The owner of the API key, or the signed-in user, has the role `read_only`.',
    next: 'Use a key of another owner, or ask an administrator to change the role.',
    text: () => 'The role of this user is read_only: it may read but not change anything.',
  },
  inactive: {
    code: 636,
    status: 403,
    cause: 'The owner of the API key, or the user who signs in, is inactive (`active` is false).',
    next: 'An administrator can set `active` to true again.',
    text: () => 'This user is deactivated. An administrator can activate them again.',
  },
  guarded: {
    code: 638,
    status: 403,
    cause:
      'Only administrators may change this object: a credential of another user or bot, or a rule of an IP policy that an IP restriction uses.',
    next: 'Ask its owner or an administrator; `GET /openapi.json` names the role that each operation requires.',
    text: (when: string) => `Only administrators may change this: ${when}.`,
  },
  admins_only: {
    code: 4111,
    status: 403,
    cause:
      'Only administrators may do this: read and manage users and bots, read the audit log, change IP restrictions, event destinations and subscriptions.',
    next: 'Use a key that belongs to a user with the role `admin`.',
    text: () => 'Only administrators may do this.',
  },
  not_found: {
    code: 404,
    status: 404,
    cause: 'There is no object with this id in this account.',
    next: 'Check the id; list the collection to see what exists.',
    text: (what: string, id: string) => `There is no ${what} with the id ${id}.`,
  },
  module_unset: {
    code: 7020,
    status: 404,
    cause: 'The edge or route has no such module.',
    next: 'Set it with `PUT` first.',
    text: (module: string, id: string) => `${id} has no ${module} module.`,
  },
  no_route: {
    code: 405,
    status: 404,
    cause: 'There is no such route.',
    next: '`GET /openapi.json` lists every route, `/reference` shows them.',
    text: (path: string) => `There is nothing at ${path}. GET /openapi.json lists every route.`,
  },
  method: {
    code: 406,
    status: 405,
    cause: 'The route exists, but not with this method.',
    next: 'Use a method that the header `Allow` names.',
    text: (method: string, path: string, allowed: string) =>
      `${method} is not supported on ${path}; allowed: ${allowed}.`,
  },
  taken: {
    code: 413,
    status: 409,
    cause:
      'A name that can exist only once is taken: a domain, hostport, SSH key, CIDR in its policy, route in its edge.',
    next: 'Choose another name, or delete the object that uses it.',
    text: (sentence: string) => sentence,
  },
  in_use: {
    code: 446,
    status: 409,
    cause: 'Something still refers to the object; `msg` names it.',
    next: 'Change or delete that first.',
    text: (what: string, id: string, referrer: string) =>
      `The ${what} ${id} is still used by ${referrer}. Remove that first.`,
  },
  conflict: {
    code: 447,
    status: 409,
    cause: 'The object is in a state that does not allow this; `msg` says why.',
    next: 'Resolve what `msg` names first.',
    text: (sentence: string) => sentence,
  },
  too_large: {
    code: 415,
    status: 413,
    cause: 'The body is larger than 1 MiB.',
    next: 'Send a smaller body.',
    text: (limit: number) => `The body is larger than ${limit} bytes.`,
  },
  both_certificates: {
    code: 434,
    status: 400,
    cause: '`certificate_id` and `certificate_management_policy` were given together.',
    next: 'Give one of them: an uploaded certificate, or automatic ones.',
    text: () => 'certificate_id and certificate_management_policy exclude each other; give one of them.',
  },
  command_unsupported: {
    code: 804,
    status: 400,
    cause:
      'The agent does not support this: an SSH client cannot be restarted, or remote management is switched off.',
    next: 'See `msg`.',
    text: (reason: string) => `The agent rejected the command: ${reason}`,
  },
  command_failed: {
    code: 807,
    status: 400,
    cause:
      'The agent could not run the command: `update`, for example, fails if no update exists or `update_check` is false.',
    next: "See `msg` and the agent's log.",
    text: (reason: string) => `The agent could not run the command: ${reason}`,
  },
  command_lost: {
    code: 810,
    status: 503,
    cause: 'The agent did not respond in time.',
    next: 'It may have lost its connection; list the sessions and try again.',
    text: () => 'The agent did not answer in time. It may have lost its connection; try again.',
  },
  cidr_invalid: {
    code: 1406,
    status: 400,
    cause: 'The range of an IP policy rule is not in CIDR notation.',
    next: 'Write an address with its mask, such as 10.0.0.0/8 or 2001:db8::/32.',
    text: (sentence: string) => sentence,
  },
  cidr_not_lowest: {
    code: 1409,
    status: 400,
    cause: 'The range of an IP policy rule does not begin with its lowest address.',
    next: 'Write the lowest address of the range: 10.0.0.0/8, not 10.0.0.1/8.',
    text: (sentence: string) => sentence,
  },
  storage: {
    code: 1500,
    status: 503,
    cause:
      'The change could not be stored, so nothing was changed: the disk is full, or the database is unreachable.',
    next: "Try again later; the operator can find the reason in the server's log.",
    text: () => 'The database is unavailable, and nothing was changed. Try again later.',
  },
  too_many_bodies: {
    code: 1501,
    status: 503,
    cause: 'Too many bodies are being received, from this address or in total.',
    next: 'Try again shortly.',
    text: () => 'Too many requests are sending bodies right now. Try again shortly.',
  },
  head_too_large: {
    code: 431,
    status: 431,
    cause: 'The headers are larger than 16 KiB.',
    next: 'Send fewer or shorter headers.',
    text: () => 'The headers of the request are too large.',
  },
  timeout: {
    code: 408,
    status: 408,
    cause: 'The request took longer than 30 seconds to arrive.',
    next: 'Try again; if the error persists, check the network.',
    text: () => 'The request took too long to arrive.',
  },
  bad_request: {
    code: 400,
    status: 400,
    cause:
      'The request cannot be read: not valid HTTP, no `Host`, or an invalid percent-encoding in the address.',
    next: 'Correct the client.',
    text: (reason: string) => `The request could not be read: ${reason}`,
  },
  internal: {
    code: 500,
    status: 500,
    cause: 'Internal server error.',
    next: "Look for the operation id in the server's log and report it.",
    text: (id: string) => `Internal error. The server's log has the details under ${id}.`,
  },
} as const satisfies Record<string, ProblemDefinition>

type Catalogue = typeof catalogue
export type ProblemName = keyof Catalogue

/** Creates a problem; an unknown name or a missing argument does not compile. */
export function problem<N extends ProblemName>(name: N, ...args: Parameters<Catalogue[N]['text']>): Problem {
  const { code, status, text } = catalogue[name]
  return new Problem(code, status, (text as (...values: unknown[]) => string)(...args))
}

/** The same, with the invalid field in `details`. */
export function fieldProblem<N extends ProblemName>(
  field: string,
  name: N,
  ...args: Parameters<Catalogue[N]['text']>
): Problem {
  return problem(name, ...args).with({ field })
}

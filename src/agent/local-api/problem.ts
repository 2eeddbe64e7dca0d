/** An error response of the local API: status and code for programs, message and cause for people. */
export class ApiProblem extends Error {
  override name = 'ApiProblem'
  readonly status: number
  readonly code: number
  readonly err: string
  readonly allow: readonly string[] | undefined

  constructor(status: number, code: number, message: string, err: string, allow?: readonly string[]) {
    super(message)
    this.status = status
    this.code = code
    this.err = err
    this.allow = allow
  }

  body(): object {
    return {
      error_code: this.code,
      status_code: this.status,
      msg: this.message,
      details: { err: this.err },
    }
  }
}

/** The error code of an invalid tunnel definition. */
export const INVALID_TUNNEL = 102

/** All errors of the local API; clients depend on the codes 102 to 104. */
export const problem = {
  malformed: (err: string, status = 400) => new ApiProblem(status, 100, 'malformed request', err),
  notFound: (err: string) => new ApiProblem(404, 101, 'not found', err),
  invalidTunnel: (err: string) => new ApiProblem(400, INVALID_TUNNEL, 'invalid tunnel configuration', err),
  startFailed: (err: string) => new ApiProblem(502, 103, 'failed to start tunnel', err),
  // Clients compare these texts literally and retry.
  notReady: () =>
    new ApiProblem(
      503,
      104,
      'ngrok is not yet ready to start tunnels',
      'a successful ngrok tunnel session has not yet been established',
    ),
  methodNotAllowed: (method: string, allow: readonly string[]) =>
    new ApiProblem(
      405,
      105,
      'method not allowed',
      `${method} is not supported here; use ${allow.join(' or ')}`,
      allow,
    ),
  forbidden: (err: string) => new ApiProblem(403, 106, 'forbidden', err),
  tooManyPins: () =>
    new ApiProblem(
      409,
      109,
      'too many pinned requests',
      'pinned requests may take half of inspect_db_size; unpin some, or raise it',
    ),
  notReloaded: (err: string) => new ApiProblem(400, 110, 'configuration not reloaded', err),
  notReplayable: (err: string) => new ApiProblem(400, 107, 'request cannot be replayed', err),
}

/** Throws a 404 for a name that does not exist. */
export function throwNotFound(what: string, name: string): never {
  throw problem.notFound(`there is no ${what} "${name.slice(0, 100)}"`)
}

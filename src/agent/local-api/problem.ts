/** An error answer of the local API: status and number for programs, a sentence and its cause for people. */
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

/** The number of a definition that cannot be started. */
export const INVALID_TUNNEL = 102

/** Every kind of refusal; 102 to 104 are the numbers other programs know. */
export const problem = {
  malformed: (err: string, status = 400) => new ApiProblem(status, 100, 'malformed request', err),
  notFound: (err: string) => new ApiProblem(404, 101, 'not found', err),
  invalidTunnel: (err: string) => new ApiProblem(400, INVALID_TUNNEL, 'invalid tunnel configuration', err),
  startFailed: (err: string) => new ApiProblem(502, 103, 'failed to start tunnel', err),
  // Compared word for word by clients that then try again.
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
      `${method} is not possible here; use ${allow.join(' or ')}`,
      allow,
    ),
  forbidden: (err: string) => new ApiProblem(403, 106, 'forbidden', err),
  notReplayable: (err: string) => new ApiProblem(400, 107, 'request cannot be replayed', err),
}

/** Nothing of that name is here. */
export function throwNotFound(what: string, name: string): never {
  throw problem.notFound(`there is no ${what} "${name.slice(0, 100)}"`)
}

import { CommandFailure } from '../base/command-line.ts'
import { describeNetworkError } from '../base/network-error.ts'
import { type ApiAccess, findApiAccess } from './access.ts'

const CALL_TIMEOUT_MS = 60_000

export interface ApiRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly body?: unknown
}

/** A call that the API rejected; `field` is the dotted path of the invalid field. */
export class ApiFailure extends CommandFailure {
  readonly field: string | undefined

  constructor(status: number, text: string) {
    const { message, field } = parseError(status, text)
    super(message)
    this.field = field
  }
}

/** Sends one call and returns the text of the response. Throws `CommandFailure` when it fails. */
export async function sendCall(
  { method, path, body }: ApiRequest,
  { url, key }: ApiAccess,
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<string> {
  let response: Response
  try {
    response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'service-version': '2',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
  } catch (error) {
    throw new CommandFailure(
      `The API at ${url} cannot be reached: ${describeNetworkError(error)}. Is the server running? Name another one with --api-url.`,
    )
  }
  const text = await response.text()
  if (!response.ok) throw new ApiFailure(response.status, text)
  return text
}

/** Reads an object of the API. */
export async function callApi(
  path: string,
  flags: { readonly apiUrl: string | undefined; readonly apiKey: string | undefined },
): Promise<unknown> {
  return JSON.parse(await sendCall({ method: 'GET', path }, findApiAccess(flags, process.env)))
}

function parseError(status: number, text: string): { message: string; field?: string | undefined } {
  try {
    const { msg, error_code, details } = JSON.parse(text) as {
      msg?: unknown
      error_code?: unknown
      details?: { field?: string }
    }
    if (typeof msg === 'string')
      return {
        message: `${msg}\n${String(error_code)} (status ${status}): adit help ${String(error_code)}`,
        field: details?.field,
      }
  } catch {
    // The response is not from the API.
  }
  return {
    message: `The response has status ${status} and is not from the management API. Check --api-url.`,
  }
}

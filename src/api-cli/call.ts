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

/** Sends one call and returns the text of the response. Throws `CommandFailure` when it fails. */
export async function sendCall({ method, path, body }: ApiRequest, { url, key }: ApiAccess): Promise<string> {
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
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    })
  } catch (error) {
    throw new CommandFailure(
      `The API at ${url} cannot be reached: ${describeNetworkError(error)}. Is the server running? Name another one with --api-url.`,
    )
  }
  const text = await response.text()
  if (!response.ok) throw new CommandFailure(formatError(response.status, text))
  return text
}

/** Reads an object of the API. */
export async function callApi(
  path: string,
  flags: { readonly apiUrl: string | undefined; readonly apiKey: string | undefined },
): Promise<unknown> {
  return JSON.parse(await sendCall({ method: 'GET', path }, findApiAccess(flags, process.env)))
}

function formatError(status: number, text: string): string {
  try {
    const { msg, error_code } = JSON.parse(text) as { msg?: unknown; error_code?: unknown }
    if (typeof msg === 'string')
      return `${msg}\n${String(error_code)} (status ${status}): adit help ${String(error_code)}`
  } catch {
    // The response is not from the API.
  }
  return `The response has status ${status} and is not from the management API. Check --api-url.`
}

import { describeNetworkError } from '../base/text/network-error.ts'
import type { CallOptions } from './call-options.ts'
import type { Problem } from './types.ts'

/** Where the API is, and how to call it. */
export interface ClientOptions {
  /** The address of the API; by default `ADIT_API_URL`, or `http://127.0.0.1:4080`. */
  apiUrl?: string
  /** The API key; by default `ADIT_API_KEY`. */
  apiKey?: string
  /** Used instead of the global `fetch`, for example to trust a private certificate authority. */
  fetch?: typeof fetch
  /** Timeout of one call in milliseconds. */
  timeoutMs?: number
}

/** A request to the API that is not one of the client's methods. */
export interface ApiRequest {
  method: string
  /** Below the address of the API, with its query. */
  path: string
  body?: unknown
}

/** A call that the API rejected. The message names the cause and the next step. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** The HTTP status. */
  readonly status: number
  /** The error code, such as `ERR_ADIT_404`; undefined if something other than the API answered. */
  readonly code: string | undefined
  /** Facts for programs, such as the invalid `field`. */
  readonly details: Readonly<Record<string, string>>

  constructor(status: number, body: unknown) {
    const problem = isProblem(body) ? body : undefined
    super(
      problem?.msg ??
        `The response has status ${status} and is not from the management API. Check the address of the API.`,
    )
    this.status = status
    this.code = problem?.error_code
    this.details = problem?.details ?? {}
  }
}

function isProblem(body: unknown): body is Problem {
  return typeof (body as Partial<Problem> | null | undefined)?.msg === 'string'
}

const DEFAULT_URL = 'http://127.0.0.1:4080'
const CALL_TIMEOUT_MS = 60_000

/** Sends a request to the API and returns the JSON of the response; undefined if it has none. */
export type SendRequest = (request: ApiRequest, options?: CallOptions) => Promise<unknown>

/** A function that calls one API with one key. */
export function createSender(client: ClientOptions): SendRequest {
  const { ADIT_API_URL, ADIT_API_KEY } = process.env
  const url = (client.apiUrl ?? (ADIT_API_URL || DEFAULT_URL)).replace(/\/+$/, '')
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new TypeError(`"${url}" is not the address of an API; use for example ${DEFAULT_URL}.`)
  const key = client.apiKey ?? ADIT_API_KEY
  if (!key) throw new TypeError('No API key was found. Pass apiKey, or set ADIT_API_KEY.')

  return async (request, { signal, timeoutMs = client.timeoutMs ?? CALL_TIMEOUT_MS } = {}) => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const init = {
      ...requestInit(request, key),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    }
    let response: Response
    let text: string
    try {
      response = await (client.fetch ?? fetch)(`${url}${request.path}`, init)
      text = await response.text()
    } catch (error) {
      if (signal?.aborted) throw error
      throw new Error(`The API at ${url} cannot be reached: ${describeNetworkError(error)}.`, {
        cause: error,
      })
    }
    const value = parseJson(text)
    if (!response.ok || (value === undefined && text !== '')) throw new ApiError(response.status, value)
    return value
  }
}

function requestInit({ method, body }: ApiRequest, key: string): RequestInit {
  return {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'service-version': '2',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    // The key is for this address alone.
    redirect: 'error',
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

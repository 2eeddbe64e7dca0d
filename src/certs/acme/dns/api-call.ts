import { OutboundProblem } from '../../../base/outbound/outbound.ts'
import { parseRetryAfter } from '../client/transport.ts'
import { DnsProviderError, type ProviderContext, retryTransient } from './provider.ts'

const MAX_REASON_LENGTH = 500
/** The other problems are of the address itself, which stays forbidden. */
const TRANSIENT_CODES = ['dns', 'unreachable', 'timeout']

/** A request to a provider's API, and how the API reports errors. */
export interface ProviderCall {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Statuses beside 2xx that are answers, such as 404 for "there is none". */
  readonly accept?: readonly number[]
}

/** The answer of an API. */
export interface ApiAnswer {
  readonly status: number
  readonly text: string
}

/** How an API reports errors. */
export interface ApiDialect {
  readonly title: string
  /** The provider's own message in the body of an error; undefined when it has none. */
  reason(body: string): string | undefined
  /** Whether to repeat a call that failed with a status other than 429 and 5xx. */
  isTransient?(status: number, body: string): boolean
}

/**
 * Makes a call, and repeats it while the provider is unreachable, fails or limits the rate. `sign` runs before each
 * attempt, since some signatures include the time.
 */
export function callApi(
  { title, reason, isTransient }: ApiDialect,
  call: ProviderCall,
  { outbound, signal }: ProviderContext,
  sign: (call: ProviderCall) => Promise<Readonly<Record<string, string>>> = async ({ headers }) => headers,
): Promise<ApiAnswer> {
  const { method, url, body, accept = [] } = call
  return retryTransient(signal, async () => {
    const init = { method, headers: await sign(call), signal, ...(body === undefined ? {} : { body }) }
    const response = await outbound.fetch(url, init).catch((error) => {
      if (!(error instanceof OutboundProblem)) throw error
      const message = `${title} cannot be reached: ${error.message}`
      throw new DnsProviderError(message, { transient: TRANSIENT_CODES.includes(error.code), cause: error })
    })
    const { status } = response
    const text = await response.text()
    if (response.ok || accept.includes(status)) return { status, text }
    const details = (reason(text) || 'it gave no reason').slice(0, MAX_REASON_LENGTH).replace(/\.?$/, '.')
    throw new DnsProviderError(`${title} answered ${method} ${url.pathname} with ${status}: ${details}`, {
      transient: status === 429 || status >= 500 || isTransient?.(status, text) === true,
      retryAfterMs: readRetryAfter(response.headers),
    })
  })
}

/** Retry-After, or the time of the reset that Hetzner and DigitalOcean send with a spent rate limit. */
function readRetryAfter(headers: Headers): number | undefined {
  const reset = Number(headers.get('ratelimit-reset') ?? Number.NaN) * 1000 - Date.now()
  return parseRetryAfter(headers.get('retry-after')) ?? (reset > 0 ? reset : undefined)
}

/** Parses JSON; undefined for anything else. */
export function parseJson<T>(text: string): Partial<T> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Partial<T>) : undefined
  } catch {
    return undefined
  }
}

/** A client for a JSON API with a bearer token; `path` is relative to the base URL, its parts already encoded. */
export function createJsonApi(
  dialect: ApiDialect,
  { baseUrl, token }: { baseUrl: string; token: string },
  context: ProviderContext,
) {
  const base = baseUrl.replace(/\/+$/, '')

  /** The body of the answer; undefined for a status in `accept`. */
  return async function call<T>(
    method: ProviderCall['method'],
    path: string,
    { query = {}, body, accept = [] }: JsonCallOptions = {},
  ): Promise<Partial<T> | undefined> {
    const url = new URL(`${base}${path}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const answer = await callApi(
      dialect,
      {
        method,
        url,
        accept,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
      context,
    )
    if (accept.includes(answer.status)) return undefined
    const parsed = parseJson<T>(answer.text)
    if (parsed === undefined && answer.status !== 204)
      throw new DnsProviderError(
        `${dialect.title} answered ${method} ${url.pathname} with something that is not JSON.`,
      )
    return parsed ?? {}
  }
}

interface JsonCallOptions {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly accept?: readonly number[]
}

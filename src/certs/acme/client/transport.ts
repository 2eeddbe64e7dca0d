import { type Outbound, OutboundProblem } from '../../../base/outbound/outbound.ts'

/** The authority rejected a request, for the reason it names. */
export class AcmeRejected extends Error {
  override name = 'AcmeRejected'
  /** Such as `rateLimited`, from `urn:ietf:params:acme:error:`. */
  readonly type: string
  readonly retryAfterMs: number | undefined

  constructor(type: string, detail: string, retryAfterMs?: number) {
    super(detail)
    this.type = type
    this.retryAfterMs = retryAfterMs
  }
}

/** The authority is unreachable or returned a server error. */
export class AcmeUnavailable extends Error {
  override name = 'AcmeUnavailable'
  readonly retryAfterMs: number | undefined
  /** The URL of the failed request. */
  readonly url: string | undefined

  constructor(
    message: string,
    request: { url?: string; retryAfterMs?: number | undefined } = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.retryAfterMs = request.retryAfterMs
    this.url = request.url
  }
}

/** An ACME problem document (RFC 8555 section 6.7). */
export interface AcmeProblem {
  readonly type?: string
  readonly detail?: string
}

const URN = 'urn:ietf:params:acme:error:'
const BAD_NONCE = 'badNonce'

/** The type of a problem without the URN prefix. */
export function problemType(problem: AcmeProblem | undefined): string {
  return (problem?.type ?? '').replace(URN, '')
}

/** A response; the body is parsed when it is JSON, else text. */
export interface AcmeResponse {
  readonly status: number
  readonly headers: Headers
  readonly data: unknown
}

/** Sends one request. Throws unless it succeeds, or fails with a stale nonce and `allowBadNonce` is set. */
export async function sendRequest(
  outbound: Outbound,
  url: string,
  method: string,
  data?: object,
  { allowBadNonce = false } = {},
): Promise<AcmeResponse> {
  const response = await outbound
    .fetch(url, {
      method,
      headers: { 'content-type': 'application/jose+json', 'user-agent': 'adit' },
      ...(data === undefined ? {} : { body: JSON.stringify(data) }),
    })
    .catch((error) => {
      throw new AcmeUnavailable(
        error instanceof OutboundProblem ? error.message : 'The certificate authority could not be reached.',
        { url },
        { cause: error },
      )
    })
  const body = parseBody(url, await response.text(), response.headers.get('content-type') ?? '')
  const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'))
  const problem = body as AcmeProblem
  const type = problemType(problem)
  // The outbound client follows no redirects.
  if (response.status >= 500 || (response.status >= 300 && response.status < 400))
    throw new AcmeUnavailable(
      `The certificate authority answered with ${response.status}: ${problem?.detail ?? 'no reason given'}.`,
      { url, retryAfterMs },
    )
  if (response.status >= 400 && !(allowBadNonce && type === BAD_NONCE))
    throw new AcmeRejected(
      type,
      typeof problem?.detail === 'string' ? problem.detail : `It answered with ${response.status}.`,
      retryAfterMs,
    )
  return { status: response.status, headers: response.headers, data: body }
}

function parseBody(url: string, text: string, contentType: string): unknown {
  if (!contentType.includes('json')) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new AcmeUnavailable('The certificate authority answered with something that is not JSON.', { url })
  }
}

/** The wait that a Retry-After header requests, in milliseconds. */
export function parseRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const wait = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(wait) && wait > 0 ? wait : undefined
}

import type { Client } from 'acme-client'
import { type Outbound, OutboundProblem } from '../../base/outbound/outbound.ts'

/** The authority said no, for the reason it names. */
export class AcmeRejected extends Error {
  override name = 'AcmeRefused'
  /** Such as `rateLimited`, from `urn:ietf:params:acme:error:`. */
  readonly type: string
  readonly retryAfterMs: number | undefined

  constructor(type: string, detail: string, retryAfterMs?: number) {
    super(detail)
    this.type = type
    this.retryAfterMs = retryAfterMs
  }
}

/** The authority could not be asked, or is in trouble itself. */
export class AcmeUnavailable extends Error {
  override name = 'AcmeUnavailable'
  readonly retryAfterMs: number | undefined
  /** What was being asked. */
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
const MAX_NONCE_RETRIES = 30

/** The name of a problem without its prefix. */
export function problemType(problem: AcmeProblem | undefined): string {
  return (problem?.type ?? '').replace(URN, '')
}

interface HttpResponse {
  status: number
  headers: Record<string, string>
  data: unknown
}

/** What the library sends its requests through; it declares no type for it. */
interface HttpTransport {
  request(url: string, method: string, options?: { data?: unknown }): Promise<HttpResponse>
  maxBadNonceRetries: number
}

/**
 * Lets a client talk through the guarded way out and nothing else. Its own HTTP is one instance for the whole process
 * that waits for minutes on a dead server and forgets why a request was refused.
 */
export function guardClient(client: Client, outbound: Outbound): Client {
  const transport = (client as unknown as { http: HttpTransport }).http
  transport.maxBadNonceRetries = MAX_NONCE_RETRIES
  transport.request = (url, method, { data } = {}) => send(outbound, url, method, data)
  return client
}

/** One request to an ACME server. Everything but success, and the stale nonce that the client handles, is thrown. */
async function send(outbound: Outbound, url: string, method: string, data: unknown): Promise<HttpResponse> {
  const response = await outbound
    .fetch(url, {
      method: method.toUpperCase(),
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
  if (response.status >= 500)
    throw new AcmeUnavailable(
      `The certificate authority answered with ${response.status}: ${problem?.detail ?? 'no reason given'}.`,
      { url, retryAfterMs },
    )
  if (response.status >= 400 && type !== BAD_NONCE)
    throw new AcmeRejected(
      type,
      typeof problem?.detail === 'string' ? problem.detail : `It answered with ${response.status}.`,
      retryAfterMs,
    )
  return { status: response.status, headers: Object.fromEntries(response.headers), data: body }
}

function parseBody(url: string, text: string, contentType: string): unknown {
  if (!contentType.includes('json')) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new AcmeUnavailable('The certificate authority answered with something that is not JSON.', { url })
  }
}

function parseRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const wait = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(wait) && wait > 0 ? wait : undefined
}

import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { trimOws } from '../../base/http/optional-white-space.ts'
import { type Outbound, OutboundProblem } from '../../base/outbound/outbound.ts'
import { type EdgeError, edgeError } from '../errors.ts'
import { type FetchInternal, isInternalUrl } from './internal-fetch.ts'

/** The largest response that a call accepts, encoded and decoded. */
export const MAX_RESPONSE_BYTES = 256 * 1024
/** The limits of the client that makes the calls. An action has a timeout of its own below. */
export const OUTBOUND_CALL_LIMITS = { maxBytes: MAX_RESPONSE_BYTES, totalTimeoutMs: 30_000 }
/** Calls in flight: visitors decide how many there are, and each may hold a whole response. */
const MAX_CALLS_PER_ACCOUNT = 100
const MAX_CALLS = 500

/** A call of a policy to another server. */
export interface OutboundCall {
  readonly accountId: string
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | null
  readonly maxRedirects: number
  readonly signal: AbortSignal
  /** Calls internal endpoints of the account. */
  readonly fetchInternal: FetchInternal
}

export interface CallResponse {
  /** After redirects. */
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
}

/** A call failed; `rejection` is what a request is rejected with that depends on it. */
export class CallFailure extends Error {
  override name = 'CallFailure'
  readonly rejection: EdgeError

  constructor(rejection: EdgeError) {
    super(rejection.text)
    this.rejection = rejection
  }
}

/** Makes the calls of policies, with a limit for each account. */
export interface OutboundCalls {
  /** Throws `CallFailure`. */
  call(call: OutboundCall): Promise<CallResponse>
}

export function createOutboundCalls({ fetch }: Pick<Outbound, 'fetch'>): OutboundCalls {
  const active = new Map<string, number>()
  let total = 0

  async function limited(call: OutboundCall): Promise<CallResponse> {
    const { accountId } = call
    const count = active.get(accountId) ?? 0
    if (count >= MAX_CALLS_PER_ACCOUNT || total >= MAX_CALLS)
      throw new CallFailure(edgeError('call_failed', 'too many calls are in progress'))
    active.set(accountId, count + 1)
    total++
    try {
      return await followRedirects(fetch, call)
    } finally {
      total--
      const remaining = active.get(accountId)! - 1
      if (remaining === 0) active.delete(accountId)
      else active.set(accountId, remaining)
    }
  }

  return {
    async call(call) {
      try {
        return await limited(call)
      } catch (error) {
        throw toCallFailure(error, call.signal)
      }
    },
  }
}

/** Headers that are for the first server alone. */
const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])

async function followRedirects(fetch: Outbound['fetch'], call: OutboundCall): Promise<CallResponse> {
  let { url, method, body } = call
  let headers = call.headers
  // Another server must not lead a call to what only the account may reach.
  const mayBeInternal = isInternalUrl(url)
  for (let redirects = 0; ; redirects++) {
    const init = { method, headers: [...headers] as [string, string][], body, signal: call.signal }
    const response =
      mayBeInternal && isInternalUrl(url)
        ? await call.fetchInternal(new URL(url), init)
        : await fetch(url, init)
    const location = response.headers.get('location')
    const isRedirect = [301, 302, 303, 307, 308].includes(response.status) && location !== null
    if (!isRedirect || redirects === call.maxRedirects) {
      const content = Buffer.from(await response.arrayBuffer())
      return {
        url,
        status: response.status,
        headers: response.headers,
        body: await decodeBody(content, response.headers.get('content-encoding') ?? ''),
      }
    }
    const next = URL.parse(location, url)
    if (next === null) throw new OutboundProblem('url', 'The redirect leads to an invalid URL.')
    if (next.origin !== new URL(url).origin)
      headers = headers.filter(([name]) => !CREDENTIAL_HEADERS.has(name.toLowerCase()))
    // As browsers do: after these a new request is made, without the body.
    if (response.status < 307 && method !== 'GET') {
      method = 'GET'
      body = null
    }
    url = next.href
  }
}

const DECODERS: Readonly<
  Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>
> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

async function decodeBody(body: Buffer, encoding: string): Promise<Buffer> {
  if (body.length > MAX_RESPONSE_BYTES) throw tooLarge()
  const decode = DECODERS[trimOws(encoding).toLowerCase()]
  if (decode === undefined) return body
  try {
    return await decode(body, { maxOutputLength: MAX_RESPONSE_BYTES })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge()
    throw new CallFailure(edgeError('call_failed', 'the response cannot be decoded'))
  }
}

const tooLarge = () => new CallFailure(edgeError('call_too_large', `${MAX_RESPONSE_BYTES / 1024} KiB`))

function toCallFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return new CallFailure(edgeError('call_timeout'))
  if (!(error instanceof OutboundProblem)) return error
  if (error.code === 'timeout') return new CallFailure(edgeError('call_timeout'))
  if (error.code === 'too_big') return tooLarge()
  return new CallFailure(edgeError('call_failed', error.message.replace(/\.$/, '')))
}

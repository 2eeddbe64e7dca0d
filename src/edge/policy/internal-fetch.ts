import type { ByteSource } from '../../base/io/streams/coalescing-writer.ts'
import { OutboundProblem } from '../../base/outbound/outbound.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { HTTP_PROTOS, parseInternalUrl } from '../../base/values/endpoint-url.ts'
import { Exchange } from '../contracts/exchange.ts'
import { holdBody } from '../contracts/held-body.ts'
import { forwardTo } from '../dispatch.ts'
import { EdgeError } from '../errors.ts'
import { createField, HeaderFields } from '../message/fields.ts'
import { parseRequestHead, type RequestHead } from '../message/request-head.ts'
import type { FetchInternal } from '../services/internal-fetch.ts'
import { MAX_RESPONSE_BYTES } from '../services/outbound-calls.ts'
import type { PolicyContext } from './context.ts'

/** What the request of an internal call is made of, apart from its URL. */
type CallInit = Parameters<FetchInternal>[1]

/** A request that a policy makes on behalf of a client's request; its response is kept in memory. */
class InternalExchange extends Exchange {
  readonly #chunks: Buffer[] = []
  #length = 0
  #response: { readonly status: number; readonly fields: string } | undefined

  constructor(caller: Exchange, head: RequestHead, body: string | null) {
    super(caller.runtime, caller.connection, head)
    this.forwards = caller.forwards
    if (body === null) return
    void holdBody(this, MAX_RESPONSE_BYTES)
    this.upstream?.writeBody(Buffer.from(body))
    this.upstream?.endBody('')
    this.upstream = undefined
  }

  /** Settles when the exchange has ended; undefined when it ended without a complete response. */
  get response(): Promise<Response | undefined> {
    return new Promise((resolve) => {
      this.onFinish(({ complete }) => {
        const { status = 0, fields = '' } = this.#response ?? {}
        const body = Buffer.concat(this.#chunks)
        const hasBody = status !== 204 && status !== 205 && status !== 304
        resolve(
          complete && status >= 200 && status < 600
            ? new Response(hasBody ? body : null, { status, headers: [...new HeaderFields(fields)] })
            : undefined,
        )
      })
    })
  }

  protected writeHead(status: number, _reason: string, fields: string): void {
    this.#response = { status, fields }
  }

  protected writeBody(chunk: Buffer): void {
    this.#length += chunk.length
    if (this.#length > MAX_RESPONSE_BYTES) this.abort()
    else this.#chunks.push(Buffer.from(chunk))
  }

  get isTooLarge(): boolean {
    return this.#length > MAX_RESPONSE_BYTES
  }

  protected account(bytes: number, source: ByteSource | undefined): void {
    source?.consumed(bytes)
  }

  protected get congested(): boolean {
    return false
  }

  protected writeUpgrade(): void {}
  protected writeEnd(): void {}
  protected touch(): void {}
  protected resetClient(): void {}
  writeInterim(): void {}
  resumeBody(): void {}
  disableKeepAlive(): void {}
}

/** Makes calls of a policy to internal endpoints of its account, on behalf of a client's request. */
export const createInternalFetch =
  (caller: Exchange, { findInternal }: Pick<PolicyContext, 'findInternal'>): FetchInternal =>
  async (url, init) => {
    const route = findInternal(addressOf(url))
    if (route === undefined)
      throw new OutboundProblem('url', `No internal endpoint is online at ${url.origin}.`)
    const exchange = new InternalExchange(caller, headOf(url, init), init.body ?? null)
    const abort = () => exchange.abort()
    init.signal?.addEventListener('abort', abort)
    caller.onFinish(abort)
    const { response } = exchange
    try {
      forwardTo(exchange, route)
    } catch (error) {
      exchange.fail(error)
    }
    const found = await response
    init.signal?.removeEventListener('abort', abort)
    if (found !== undefined) return found
    throw exchange.isTooLarge
      ? new OutboundProblem('too_big', 'The response is too large.')
      : new OutboundProblem('unreachable', 'The internal endpoint did not answer.')
  }

function addressOf(url: URL) {
  try {
    return parseInternalUrl(url.origin, HTTP_PROTOS)
  } catch (error) {
    throw new OutboundProblem('url', errorMessage(error))
  }
}

function headOf(url: URL, { method = 'GET', headers = [], body }: CallInit): RequestHead {
  const length = body == null ? [] : [['content-length', String(Buffer.byteLength(body))] as const]
  const lines = [['host', url.host] as const, ...headers, ...length].map(
    ([name, value]) => createField(name, value).line,
  )
  const head = parseRequestHead(
    `${method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}\r\n`,
    url.protocol === 'https:' ? 'https' : 'http',
  )
  if (head instanceof EdgeError) throw new OutboundProblem('url', head.text)
  return head
}

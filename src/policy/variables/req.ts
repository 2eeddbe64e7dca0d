import type { Meter } from '../../cel/index.ts'
import {
  INT,
  listOf,
  type MapValue,
  objectOf,
  STRING,
  TIMESTAMP,
  Timestamp,
  type Type,
} from '../../cel/index.ts'
import type { RequestSource } from '../activation.ts'
import { readCookies, requestCookies } from './cookies.ts'
import { contentType, contentTypeOf, readEncodings, readLocation } from './message.ts'
import { field, plain, withOlderNames } from './shape.ts'
import { parseQuery, queryOf, stringLists, type UrlSource, url } from './url.ts'
import { userAgent } from './user-agent.ts'

const readParameters = (request: RequestSource, meter: Meter) => parseQuery(queryOf(request.target), meter)

/** The parameters of the query of a request. */
export const queryParameters = (request: RequestSource): MapValue => request.once(readParameters)

/** The URL of a request as the client sees it. An expression reads one part of it, so each is computed when it is read. */
class RequestUrl implements UrlSource {
  readonly #request: RequestSource

  constructor(request: RequestSource) {
    this.#request = request
  }

  get scheme(): string {
    return this.#request.scheme
  }

  get userPassword(): string {
    return ''
  }

  get host(): string {
    return this.#request.host
  }

  get port(): number {
    const { authority, host } = this.#request
    return authority === host ? -1 : Number(authority.slice(authority.lastIndexOf(':') + 1))
  }

  get path(): string {
    return this.#request.path.decoded
  }

  get rawPath(): string {
    return this.#request.path.escaped
  }

  get query(): string {
    return queryOf(this.#request.target)
  }

  get queryParams(): MapValue {
    return queryParameters(this.#request)
  }
}

export const requestUrl = (request: RequestSource): UrlSource => new RequestUrl(request)

/** `req`: the request, as the actions before have left it. */
export const req: Type = objectOf({
  name: 'req',
  fields: withOlderNames({
    method: field(STRING, ({ method }: RequestSource) => method),
    host: field(STRING, ({ host }: RequestSource) => host),
    version: field(STRING, ({ version }: RequestSource) => version),
    location: field(STRING, (message: RequestSource) => message.once(readLocation)),
    headers: field(stringLists, ({ headers }: RequestSource) => headers),
    trailers: field(stringLists, () => new Map()),
    content_length: field(INT, ({ contentLength }: RequestSource) =>
      contentLength === -1 ? undefined : contentLength,
    ),
    content_encoding: field(listOf(STRING), (message: RequestSource) => message.once(readEncodings)),
    content_type: field(contentType, contentTypeOf),
    cookies: field(requestCookies, (message: RequestSource) => message.once(readCookies)),
    ts: field(
      plain('ts', { header_received: TIMESTAMP, body_received: TIMESTAMP }),
      ({ receivedAt }: RequestSource) => ({ header_received: Timestamp.fromMillis(receivedAt) }),
    ),
    url: field(url, requestUrl),
    user_agent: field(userAgent, (message: RequestSource) => message),
  }),
})

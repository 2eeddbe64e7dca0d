import type { RequestSource } from '../activation.ts'
import { INT, listOf, objectOf, STRING, TIMESTAMP, type Type } from '../cel/types.ts'
import { Timestamp } from '../cel/values.ts'
import { byName, parseCookies, requestCookies } from './cookies.ts'
import { contentType, encodings } from './message.ts'
import { field, plain } from './shape.ts'
import { queryOf, stringLists, type UrlSource, url } from './url.ts'
import { userAgent } from './user-agent.ts'

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
}

export const requestUrl = (request: RequestSource): UrlSource => new RequestUrl(request)

/** `req`: the request, as the actions before have left it. */
export const req: Type = objectOf({
  name: 'req',
  fields: {
    method: field(STRING, ({ method }: RequestSource) => method),
    host: field(STRING, ({ host }: RequestSource) => host),
    version: field(STRING, ({ version }: RequestSource) => version),
    location: field(STRING, (message: RequestSource) => message.header('location')[0]),
    headers: field(stringLists, ({ headers }: RequestSource) => headers),
    trailers: field(stringLists, () => new Map()),
    content_length: field(INT, ({ contentLength }: RequestSource) =>
      contentLength === -1 ? undefined : contentLength,
    ),
    content_encoding: field(listOf(STRING), (message: RequestSource) => encodings(message)),
    content_type: field(contentType, (message: RequestSource) => message.header('content-type')[0]),
    cookies: field(requestCookies, (message: RequestSource) => byName(parseCookies(message), requestCookies)),
    ts: field(
      plain('ts', { header_received: TIMESTAMP, body_received: TIMESTAMP }),
      ({ receivedAt }: RequestSource) => ({ header_received: Timestamp.fromMillis(receivedAt) }),
    ),
    url: field(url, requestUrl),
    user_agent: field(userAgent, (message: RequestSource) => message.header('user-agent')[0] ?? ''),
  },
})

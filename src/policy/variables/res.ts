import type { ResponseSource } from '../activation.ts'
import { INT, listOf, objectOf, STRING, type Type } from '../cel/types.ts'
import { byName, parseSetCookies, responseCookies } from './cookies.ts'
import { contentType, encodings } from './message.ts'
import { field } from './shape.ts'
import { stringLists } from './url.ts'

/** `res`: the response, as the actions before have left it. */
export const res: Type = objectOf({
  name: 'res',
  fields: {
    status_code: field(INT, ({ status }: ResponseSource) => status),
    headers: field(stringLists, ({ headers }: ResponseSource) => headers),
    trailers: field(stringLists, () => new Map()),
    content_length: field(INT, ({ contentLength }: ResponseSource) =>
      contentLength === -1 ? undefined : contentLength,
    ),
    content_encoding: field(listOf(STRING), (message: ResponseSource) => encodings(message)),
    content_type: field(contentType, (message: ResponseSource) => message.header('content-type')[0]),
    location: field(STRING, (message: ResponseSource) => message.header('location')[0]),
    cookies: field(responseCookies, (message: ResponseSource) =>
      byName(parseSetCookies(message), responseCookies),
    ),
  },
})

import { INT, listOf, objectOf, STRING, type Type } from '../../cel/index.ts'
import type { ResponseSource } from '../activation.ts'
import { readSetCookies, responseCookies } from './cookies.ts'
import { contentType, contentTypeOf, readEncodings, readLocation } from './message.ts'
import { field, withOlderNames } from './shape.ts'
import { stringLists } from './url.ts'

/** `res`: the response, as the actions before have left it. */
export const res: Type = objectOf({
  name: 'res',
  fields: withOlderNames({
    status_code: field(INT, ({ status }: ResponseSource) => status),
    headers: field(stringLists, ({ headers }: ResponseSource) => headers),
    trailers: field(stringLists, () => new Map()),
    content_length: field(INT, ({ contentLength }: ResponseSource) =>
      contentLength === -1 ? undefined : contentLength,
    ),
    content_encoding: field(listOf(STRING), (message: ResponseSource) => message.once(readEncodings)),
    content_type: field(contentType, contentTypeOf),
    location: field(STRING, (message: ResponseSource) => message.once(readLocation)),
    cookies: field(responseCookies, (message: ResponseSource) => message.once(readSetCookies)),
  }),
})

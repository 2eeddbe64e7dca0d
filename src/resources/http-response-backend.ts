import { common, defineResource, editable } from './schema/define.ts'
import { headerName, headerValue } from './schema/formats.ts'
import { integer, map, nullable, text, type Value } from './schema/value.ts'

const headers = map(headerValue, { maxItems: 100, name: headerName })

/** The API documents null for no headers, whether absent or empty. */
function emptyAsNull<V extends Value<Record<string, string> | null>>(value: V): V {
  return {
    ...value,
    check(input, path) {
      const checked = value.check(input, path)
      return checked !== null && Object.keys(checked).length > 0 ? checked : null
    },
  }
}

/** Sends the same response to every request. */
export const HttpResponseBackend = defineResource({
  name: 'HTTP response backend',
  description: 'Backends that return a fixed response.',
  path: '/backends/http_response',
  prefix: 'bkdhr',
  listKey: 'backends',
  event: 'http_response_backend',
  fields: {
    ...common,
    body: editable(text(262_144), 'The response body.', 'Back soon.\n'),
    headers: editable(emptyAsNull(nullable(headers)), 'The response headers.', {
      'content-type': 'text/plain',
    }),
    status_code: editable(integer(200, 599, 200), 'The response status, such as 200 or 503.', 503),
  },
})

import { described, headers, integer, named, object, optional, template, withDefault } from '../config.ts'
import { defineAction } from './define.ts'

const MAX_BODY_LENGTH = 128 * 1024
/** As long as the response of an `http-request`. */
const MAX_RESULT_LENGTH = 256 * 1024

export const customResponse = defineAction({
  type: 'custom-response',
  description: 'Sends a response of its own, or replaces the one of the upstream.',
  example: { status_code: 503, headers: { 'content-type': 'text/html' }, body: '<h1>Back at noon</h1>' },
  phases: ['on_http_request', 'on_http_response'],
  ends: 'always',
  rejects: ({ status_code }) => status_code >= 400,
  config: object({
    status_code: described(withDefault(integer(200, 599), 200), 'the status of the response'),
    // The official Kubernetes operator writes the older name.
    body: described(
      named(
        optional(template({ maxLength: MAX_BODY_LENGTH, maxResultLength: MAX_RESULT_LENGTH })),
        'content',
      ),
      'the body',
    ),
    headers: described(
      withDefault(headers(), [], {}),
      'header fields; without content-type one is chosen by the body',
    ),
  }),
})

import { parseInternalUrl } from '../../base/endpoint-url.ts'
import { errorMessage } from '../../base/error-message.ts'
import { STRING } from '../cel/types.ts'
import { choice, described, object, optional, template, withDefault } from '../config.ts'
import { defineAction } from './define.ts'
import { errorResult } from './results.ts'

export const forwardInternal = defineAction({
  type: 'forward-internal',
  description: 'Forwards the request to an internal endpoint of the account, whose own policy runs then.',
  example: { url: 'https://orders.internal', on_error: 'continue' },
  phases: ['on_http_request'],
  ends: 'always',
  config: object({
    url: described(
      template({ minLength: 1, maxLength: 2048, check: checkUrl }),
      'the internal endpoint, such as https://app.internal',
    ),
    on_error: described(
      withDefault(choice('halt', 'continue'), 'halt'),
      'continue: where the endpoint cannot be reached, the next action runs',
    ),
    // Official clients write it; there is no other binding to forward to.
    binding: described(optional(choice('internal')), 'accepted for compatibility'),
  }),
  continues: ({ on_error }) => on_error === 'continue',
  results: { url: STRING, error: errorResult },
})

function checkUrl(url: string): readonly [number, string] | undefined {
  try {
    parseInternalUrl(url)
    return undefined
  } catch (error) {
    return [2226, errorMessage(error)]
  }
}

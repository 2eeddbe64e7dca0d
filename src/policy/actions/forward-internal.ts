import { errorMessage } from '../../base/text/error-message.ts'
import { HTTP_PROTOS, parseInternalUrl, RAW_PROTOS } from '../../base/values/endpoint-url.ts'
import { STRING } from '../../cel/index.ts'
import {
  choice,
  described,
  type FieldContext,
  object,
  optional,
  strictTemplate,
  withDefault,
} from '../config.ts'
import { isHttp } from '../phases.ts'
import { defineAction } from './define.ts'
import { errorResult } from './results.ts'

export const forwardInternal = defineAction({
  type: 'forward-internal',
  description:
    'Forwards the request or connection to an internal endpoint of the account, whose own policy runs then.',
  example: { url: 'https://orders.internal', on_error: 'continue' },
  phases: ['on_tcp_connect', 'on_http_request'],
  ends: 'always',
  config: object(
    {
      url: described(
        strictTemplate({ minLength: 1, maxLength: 2048 }),
        'the internal endpoint, such as https://app.internal, or tcp://db.internal:5432 in on_tcp_connect',
      ),
      on_error: described(
        withDefault(choice('halt', 'continue'), 'halt'),
        'continue: where the endpoint cannot be reached, the next action runs',
      ),
      // Official clients write it; there is no other binding to forward to.
      binding: described(optional(choice('internal')), 'accepted for compatibility'),
    },
    ({ url }, context) => {
      if (url.literal !== undefined) checkUrl(url.literal, context.child('url'))
    },
  ),
  continues: ({ on_error }) => on_error === 'continue',
  results: { url: STRING, error: errorResult },
})

/** Requests are forwarded to endpoints that serve requests, connections to those that pass bytes on. */
function checkUrl(url: string, context: FieldContext): void {
  try {
    parseInternalUrl(url, isHttp(context) ? HTTP_PROTOS : RAW_PROTOS)
  } catch (error) {
    context.report('invalid_url', errorMessage(error))
  }
}

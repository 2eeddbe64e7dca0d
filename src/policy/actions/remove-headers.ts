import { listOf as listType, STRING } from '../../cel/index.ts'
import { checkHeaderName, described, listOf, object, text } from '../config.ts'
import { defineAction } from './define.ts'

export const removeHeaders = defineAction({
  type: 'remove-headers',
  description: 'Removes header fields from a request or a response.',
  example: { headers: ['x-powered-by'] },
  phases: ['on_http_request', 'on_http_response'],
  config: object({
    headers: described(
      listOf(
        text({
          check: (name) =>
            name.toLowerCase() === 'user-agent'
              ? ['reserved_header', 'user-agent cannot be removed']
              : checkHeaderName(name),
        }),
        { maxItems: 10 },
      ),
      'names, in any case',
    ),
  }),
  results: { headers_removed: listType(STRING) },
})

import { DYN, listOf as listType, mapOf as mapType, STRING } from '../cel/types.ts'
import { described, listOf, object, pattern, template } from '../config.ts'
import { defineAction } from './define.ts'

const MAX_REPLACEMENTS = 20

const config = object({
  replacements: described(
    listOf(
      object({
        from: described(pattern, 'what is replaced in the body, everywhere'),
        to: described(template({ maxLength: 8192 }), 'the replacement; $1 stands for the first group'),
      }),
      { minItems: 1, maxItems: MAX_REPLACEMENTS },
    ),
    'applied one after the other',
  ),
})

const results = { replacements: listType(mapType(STRING, DYN)) }

export const requestBodyFindReplace = defineAction({
  type: 'request-body-find-replace',
  description: 'Replaces text in the body of a request before the upstream gets it.',
  phases: ['on_http_request'],
  config,
  results,
})

export const responseBodyFindReplace = defineAction({
  type: 'response-body-find-replace',
  description: 'Replaces text in the body of a response before the visitor gets it.',
  phases: ['on_http_response'],
  config,
  results,
})

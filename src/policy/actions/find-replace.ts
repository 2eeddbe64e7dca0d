import { DYN, listOf as listType, mapOf as mapType, STRING } from '../../cel/index.ts'
import {
  type ConfigField,
  choice,
  described,
  listOf,
  object,
  pattern,
  template,
  withDefault,
} from '../config.ts'
import { defineAction } from './define.ts'

const MAX_REPLACEMENTS = 20

const replacement = {
  from: described(pattern, 'what is replaced, everywhere'),
  to: described(
    template({ maxLength: 8192, maxResultLength: 65_536 }),
    'the replacement; $1 stands for the first group',
  ),
}

const replacementsOf = <T>(text: ConfigField<T>) =>
  described(listOf(text, { minItems: 1, maxItems: MAX_REPLACEMENTS }), 'applied one after the other')

const config = object({ replacements: replacementsOf(object(replacement)) })

const results = { replacements: listType(mapType(STRING, DYN)) }

export const requestBodyFindReplace = defineAction({
  type: 'request-body-find-replace',
  description: 'Replaces text in the body of a request before the upstream gets it.',
  example: { replacements: [{ from: 'staging', to: 'production' }] },
  phases: ['on_http_request'],
  config,
  results,
})

export const responseBodyFindReplace = defineAction({
  type: 'response-body-find-replace',
  description: 'Replaces text in the body of a response before the visitor gets it.',
  example: { replacements: [{ from: 'http://', to: 'https://' }] },
  phases: ['on_http_response'],
  config,
  results,
})

export const sseFindReplace = defineAction({
  type: 'sse-find-replace',
  description: 'Replaces text in each message of an event stream before the visitor gets it.',
  example: { replacements: [{ field: 'data', from: 'secret-[0-9]+', to: 'secret' }] },
  phases: ['on_event_stream_message'],
  config: object({
    replacements: replacementsOf(
      object({
        field: described(withDefault(choice('data', 'retry'), 'data'), 'the field of the message'),
        ...replacement,
      }),
    ),
  }),
  results,
})

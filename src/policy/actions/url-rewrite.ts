import { listOf as listType, STRING } from '../../cel/index.ts'
import { described, object, optional, pattern, template } from '../config.ts'
import { defineAction } from './define.ts'

export const urlRewrite = defineAction({
  type: 'url-rewrite',
  description: 'Changes the URL that the upstream gets; the visitor sees nothing of it.',
  example: { from: '/api/v1/(.*)', to: '/$1' },
  phases: ['on_http_request'],
  config: object({
    from: described(
      optional(pattern),
      'what is replaced in the URL, everywhere; without it the URL as a whole',
    ),
    to: described(
      template({ minLength: 1, maxLength: 8192 }),
      'the replacement; $1 stands for the first group',
    ),
  }),
  results: { url: STRING, matches: listType(STRING) },
})

import { listOf as listType, STRING } from '../../cel/index.ts'
import {
  described,
  headers,
  integer,
  named,
  object,
  optional,
  pattern,
  template,
  withDefault,
} from '../config.ts'
import { defineAction } from './define.ts'

export const redirect = defineAction({
  type: 'redirect',
  description: 'Redirects the visitor to another URL, unless the URL would be the same.',
  example: { from: '/old/(.*)', to: '/new/$1', status_code: 301 },
  phases: ['on_http_request'],
  ends: 'sometimes',
  config: object({
    from: described(optional(pattern), 'what is replaced in the URL; without it the URL as a whole'),
    // A page of the original has the other name.
    to: described(
      named(template({ minLength: 1, maxLength: 8192 }), 'location'),
      'the replacement; $1 stands for the first group',
    ),
    status_code: described(withDefault(integer(300, 399), 302), 'the status of the response'),
    headers: described(withDefault(headers(), [], {}), 'header fields of the response'),
  }),
  results: { url: STRING, matches: listType(STRING) },
})

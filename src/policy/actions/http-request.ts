import { DYN, INT, listOf as listType, mapOf as mapType, STRING, type Type } from '../../cel/index.ts'
import type { Activation } from '../activation.ts'
import {
  choice,
  condition,
  described,
  duration,
  headers,
  integer,
  listOf,
  object,
  optional,
  template,
  text,
  withDefault,
} from '../config.ts'
import { plain } from '../variables/shape.ts'
import { defineAction } from './define.ts'
import { errorResult } from './results.ts'

const headerLists = mapType(STRING, listType(STRING))

const calls: Readonly<Record<'req' | 'res' | 'error', Type>> = {
  req: plain('req', { method: STRING, url: STRING, header: headerLists, body: STRING }),
  res: plain('res', {
    status_code: INT,
    header: headerLists,
    time_ms: INT,
    body: STRING,
    // The guarded client does not tell.
    resolved_ip: STRING,
  }),
  error: errorResult,
}

const retryVariables = {
  attempts: { type: INT, read: ({ retry }: Activation) => retry?.attempts },
  last_attempt: {
    type: plain('last_attempt', calls),
    read: ({ retry }: Activation) => retry?.lastAttempt,
  },
}

const checkUrl = (url: string) =>
  /^https?:\/\//i.test(url) && URL.canParse(url) ? undefined : (['invalid_url', 'it is not a URL'] as const)

export const httpRequest = defineAction({
  type: 'http-request',
  description: 'Calls another server, and lets later rules read its response.',
  example: {
    url: 'https://auth.example.com/check?user=${req.host}',
    method: 'GET',
    timeout: '5s',
    on_error: 'halt',
  },
  phases: ['on_http_request', 'on_http_response'],
  ends: 'sometimes',
  config: object({
    url: described(template({ minLength: 1, maxLength: 8192, check: checkUrl }), 'what is called'),
    method: described(
      withDefault(choice('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'), 'GET'),
      'the method of the call',
    ),
    query_params: described(
      withDefault(
        listOf(
          object({
            key: described(text({ minLength: 1, maxLength: 128 }), 'the name'),
            value: described(template({ maxLength: 8192 }), 'the value'),
          }),
          { maxItems: 32 },
        ),
        [],
      ),
      'added to the query of the URL',
    ),
    headers: described(withDefault(headers(), [], {}), 'header fields of the call'),
    body: described(
      optional(template({ maxLength: 65_536, maxResultLength: 65_536 })),
      'the body of the call',
    ),
    max_redirects: described(withDefault(integer(0, 100), 10), 'how many redirects are followed'),
    timeout: described(
      withDefault(duration(1, 30), 3000, '3s'),
      'for the call with all its redirects and retries',
    ),
    retry_condition: described(
      optional(condition(retryVariables)),
      'the call is made again while this is true, three times at most; it reads `attempts` and `last_attempt`',
    ),
    on_error: described(
      withDefault(choice('continue', 'halt'), 'continue'),
      'halt: a call that fails ends the request; continue: later rules find the reason in the results',
    ),
  }),
  results: { ...calls, attempts: listType(mapType(STRING, DYN)) },
})

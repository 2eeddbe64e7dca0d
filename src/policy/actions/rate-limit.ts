import { BOOL, listOf as listType, STRING } from '../../cel/index.ts'
import {
  choice,
  described,
  duration,
  expression,
  flag,
  integer,
  listOf,
  object,
  text,
  withDefault,
} from '../config.ts'
import { defineAction } from './define.ts'
import { errorResult } from './results.ts'

const STEP_MS = 10_000

export const rateLimit = defineAction({
  type: 'rate-limit',
  description: 'Admits a number of requests in a time for each visitor, path or whatever the key names.',
  example: {
    name: 'per visitor',
    algorithm: 'sliding_window',
    capacity: 100,
    rate: '60s',
    bucket_key: ['conn.client_ip'],
  },
  phases: ['on_http_request'],
  ends: 'sometimes',
  rejects: ({ enforce }) => enforce,
  config: object(
    {
      name: described(text({ minLength: 1, maxLength: 1023 }), 'tells limits of one policy apart'),
      algorithm: described(choice('sliding_window'), 'how requests are counted'),
      capacity: described(integer(1, 2_000_000_000), 'requests that may pass in the time of `rate`'),
      rate: described(duration(60, 86_400), 'the time, in steps of 10 seconds'),
      bucket_key: described(
        listOf(expression, { minItems: 1, maxItems: 10 }),
        'CEL expressions whose values together make one key',
      ),
      enforce: described(withDefault(flag, true), 'false: only sets the results'),
    },
    ({ rate }, context) => {
      if (rate % STEP_MS !== 0)
        context.child('rate').report('invalid_duration', 'it must be a multiple of 10 seconds')
    },
  ),
  results: { bucket_key: listType(STRING), limited: BOOL, error: errorResult },
})

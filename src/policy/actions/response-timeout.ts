import { described, duration, object } from '../config.ts'
import { defineAction } from './define.ts'

const DAY_SECONDS = 86_400

export const responseTimeout = defineAction({
  type: 'response-timeout',
  description:
    'Sets how long a request waits while neither side sends a byte, before and within the response. Without it the server decides: 5 minutes by default.',
  example: { duration: '1h' },
  phases: ['on_http_request', 'on_http_response'],
  config: object({
    duration: described(duration(1, DAY_SECONDS), 'the time; each byte begins it anew'),
  }),
})

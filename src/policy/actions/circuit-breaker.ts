import { described, duration, flag, integer, named, number, object, withDefault } from '../config.ts'
import { defineAction } from './define.ts'
import { errorResult } from './results.ts'

export const circuitBreaker = defineAction({
  type: 'circuit-breaker',
  description: 'Stops sending requests to an upstream that fails, and tries it again after a time.',
  example: { error_threshold: 0.5, volume_threshold: 20, window_duration: '10s', tripped_duration: '30s' },
  phases: ['on_http_request'],
  ends: 'sometimes',
  config: object({
    error_threshold: described(
      named(withDefault(number(0, 1), 0.5), 'error_threshold_percentage'),
      'the share of responses with 5xx that trips it',
    ),
    volume_threshold: described(withDefault(integer(1, 2_000_000_000), 10), 'the least requests that count'),
    window_duration: described(
      named(withDefault(duration(1, 120), 10_000, '10s'), 'rolling_window'),
      'the time over which it counts',
    ),
    tripped_duration: described(
      withDefault(duration(1, 120), 10_000, '10s'),
      'how long it rejects before it lets one request through',
    ),
    num_buckets: described(withDefault(integer(10, 10), 10), 'how finely it counts'),
    enforce: described(withDefault(flag, true), 'false: only counts'),
  }),
  results: { error: errorResult },
})

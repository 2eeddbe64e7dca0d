import { Type } from 'typebox'
import { defineModule } from '../schema/module.ts'
import { defineEndpointOption } from '../schema/option.ts'
import { described, fraction, integer, uint32 } from '../schema/value.ts'

const ratio = Type.Number({ minimum: 0, maximum: 1 })

/** Stops sending requests to an upstream that keeps failing. */
export const CircuitBreaker = defineModule(
  'circuit_breaker',
  'Stops sending requests to a backend that returns too many errors.',
  {
    tripped_duration: described(uint32(10), 'How long the breaker stays open, in seconds.'),
    rolling_window: described(uint32(10), 'The length of the rolling window, in seconds.'),
    num_buckets: described(integer(1, 128, 10), 'The number of buckets that the window is divided into.'),
    volume_threshold: described(
      uint32(20),
      'The number of requests within the window before the breaker can open.',
    ),
    error_threshold_percentage: described(
      fraction(0.5),
      'The ratio of server errors at which the breaker opens, from 0 to 1.',
    ),
  },
  {
    endpoint: defineEndpointOption({
      name: 'circuitBreaker',
      field: 'CircuitBreaker',
      key: 'circuit_breaker',
      wire: Type.Object({ error_threshold: ratio }),
      config: ratio,
      flags: [{ name: 'circuit-breaker', help: 'reject requests when this share (0 to 1) fails' }],
      encode: (threshold) => ({ error_threshold: threshold }),
      decode: ({ error_threshold }) => ({ errorThreshold: error_threshold }),
      settings: ({ errorThreshold }) => ({ error_threshold_percentage: errorThreshold }),
    }),
  },
)

import { Type } from 'typebox'
import { defineModule } from '../module.ts'
import { defineEndpointOption } from '../option.ts'
import { fraction, integer, uint32 } from '../value.ts'

const ratio = Type.Number({ minimum: 0, maximum: 1 })

/** Stops sending requests to an upstream that keeps failing. */
export const CircuitBreaker = defineModule(
  'circuit_breaker',
  {
    tripped_duration: uint32(10),
    rolling_window: uint32(10),
    num_buckets: integer(1, 128, 10),
    volume_threshold: uint32(20),
    error_threshold_percentage: fraction(0.5),
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

import { defineModule } from '../module.ts'
import { fraction, integer, uint32 } from '../value.ts'

/** Stops sending requests to an upstream that keeps failing. */
export const CircuitBreaker = defineModule('circuit_breaker', {
  tripped_duration: uint32(10),
  rolling_window: uint32(10),
  num_buckets: integer(1, 128, 10),
  volume_threshold: uint32(20),
  error_threshold_percentage: fraction(0.5),
})

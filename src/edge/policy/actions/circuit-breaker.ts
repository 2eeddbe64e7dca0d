import { Breaker } from '../../modules/breaker.ts'
import { breakerStep } from '../../modules/circuit-breaker.ts'
import type { Implementation } from '../implement.ts'
import { errorResult } from './results.ts'

export const circuitBreaker: Implementation<'circuit-breaker'> = {
  on_http_request(
    { error_threshold, volume_threshold, window_duration, tripped_duration, num_buckets, enforce },
    { clock, keepState },
  ) {
    const settings = {
      tripped_duration: tripped_duration / 1000,
      rolling_window: window_duration / 1000,
      num_buckets,
      volume_threshold,
      error_threshold_percentage: error_threshold,
    }
    const breaker = keepState('', () => new Breaker(settings))
    return (execution) => {
      execution.results.circuit_breaker = {}
      const step = breakerStep(breaker, clock, (error) => {
        execution.results.circuit_breaker = errorResult(error)
        if (enforce) throw error
      })
      return step(execution.exchange)
    }
  },
}

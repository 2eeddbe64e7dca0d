import { breakerStep } from '../../modules/circuit-breaker.ts'
import type { Implementation } from '../implement.ts'

export const circuitBreaker: Implementation<'circuit-breaker'> = {
  on_http_request(
    { error_threshold, volume_threshold, window_duration, tripped_duration, num_buckets, enforce },
    context,
  ) {
    const settings = {
      tripped_duration: tripped_duration / 1000,
      rolling_window: window_duration / 1000,
      num_buckets,
      volume_threshold,
      error_threshold_percentage: error_threshold,
    }
    const step = breakerStep('circuit-breaker', settings, context, enforce)
    return ({ exchange }) => step(exchange)
  },
}

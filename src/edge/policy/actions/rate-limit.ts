import { valueText } from '../../../policy/index.ts'
import { edgeError } from '../../errors.ts'
import type { Implementation } from '../implement.ts'
import { RateCounter } from '../rate-counter.ts'
import { errorResult } from './results.ts'

export const rateLimit: Implementation<'rate-limit'> = {
  on_http_request({ capacity, rate, bucket_key, enforce }, { clock, keepState }) {
    const counter = keepState('', () => new RateCounter(capacity, rate))

    return (execution) => {
      const keys = bucket_key.map((program) => valueText(program.evaluate(execution)))
      const retryAfterMs = counter.take(JSON.stringify(keys), clock.monotonic())
      const error =
        retryAfterMs === undefined
          ? undefined
          : edgeError('rate_limited').withRetryAfter(Math.ceil(retryAfterMs / 1000))
      execution.results.rate_limit = { bucket_key: keys, limited: error !== undefined, ...errorResult(error) }
      if (enforce && error !== undefined) throw error
      return undefined
    }
  },
}

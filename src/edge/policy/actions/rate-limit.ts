import { valueText } from '../../../policy/index.ts'
import { edgeError } from '../../errors.ts'
import type { Implementation } from '../implement.ts'
import { LeasedCounter } from '../rates/leased-counter.ts'
import { RateCounter, toRateKey } from '../rates/rate-counter.ts'
import { errorResult } from './results.ts'

export const rateLimit: Implementation<'rate-limit'> = {
  on_http_request(
    { capacity, rate: windowMs, bucket_key, enforce },
    { clock, keepState, services: { takeRateLease } },
  ) {
    const counter = keepState('', (limit) =>
      takeRateLease === undefined
        ? new RateCounter(capacity, windowMs)
        : new LeasedCounter({ limit, capacity, windowMs }, { takeRateLease, clock }),
    )

    return (execution) => {
      const keys = bucket_key.map((program) => valueText(program.evaluate(execution), execution.budget))
      const key = toRateKey(JSON.stringify(keys))
      const finish = (retryAfterMs: number | undefined) => {
        const error =
          retryAfterMs === undefined
            ? undefined
            : edgeError('rate_limited').withRetryAfter(Math.ceil(retryAfterMs / 1000))
        execution.results.rate_limit = {
          bucket_key: keys,
          limited: error !== undefined,
          ...errorResult(error),
        }
        if (enforce && error !== undefined) throw error
        return undefined
      }
      return counter instanceof LeasedCounter
        ? counter.takeLeased(key).then(finish)
        : finish(counter.take(key, clock.monotonic()))
    }
  },
}

import type { Clock } from '../../base/values/clock.ts'
import { CircuitBreaker, type Settings } from '../../resources/index.ts'
import type { Exchange } from '../contracts/exchange.ts'
import { implementModule, type RequestStep } from '../contracts/module.ts'
import { type EdgeError, edgeError } from '../errors.ts'
import { Breaker } from './breaker.ts'
import type { ModuleContext } from './context.ts'

/** Stops sending requests to a failing upstream and probes it from time to time. */
export const circuitBreaker = implementModule(CircuitBreaker, {
  phase: 'request',
  build: (settings: Settings<typeof CircuitBreaker>, context: ModuleContext) =>
    breakerStep(
      context.getOrCreate(CircuitBreaker.name, JSON.stringify(settings), () => new Breaker(settings)),
      context.clock,
      (error) => {
        throw error
      },
    ),
})

/** Counts the responses to requests that pass. `block` is told of those that may not; unless it throws, they pass uncounted. */
export function breakerStep(
  breaker: Breaker,
  clock: Clock,
  block: (error: EdgeError, exchange: Exchange) => void,
): RequestStep {
  return (exchange) => {
    const now = clock.monotonic()
    const decision = breaker.decide(now, !exchange.upgrading)
    exchange.annotate('circuit_breaker.decision', decision)
    if (decision === 'block') {
      block(
        edgeError('breaker_open', exchange.head.host).withRetryAfter(breaker.retryAfterSeconds(now)),
        exchange,
      )
      return undefined
    }
    const probing = decision === 'allow_while_open'
    // Recorded when the response starts: a WebSocket or a long download may take hours to finish.
    let recorded = false
    const record = (status: number) => {
      if (recorded) return
      recorded = true
      // Status 0 means the client disconnected first, which says nothing about the upstream.
      if (status === 0) breaker.cancel(probing)
      else breaker.record(status >= 500, probing, clock.monotonic())
    }
    exchange.onResponse(({ status }) => {
      record(status)
      return undefined
    })
    exchange.onFinish(({ status }) => record(status))
    return undefined
  }
}

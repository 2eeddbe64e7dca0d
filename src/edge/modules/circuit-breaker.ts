import { CircuitBreaker, type Settings } from '../../resources/index.ts'
import { edgeError } from '../errors.ts'
import { implementModule, type RequestStep } from '../module.ts'
import { Breaker, type BreakerSettings } from './breaker.ts'
import type { ModuleContext } from './context.ts'

/** Stops sending requests to a failing upstream and probes it from time to time. */
export const circuitBreaker = implementModule(CircuitBreaker, {
  phase: 'request',
  build: (settings: Settings<typeof CircuitBreaker>, context: ModuleContext) =>
    breakerStep(CircuitBreaker.name, settings, context, true),
})

/** A breaker whose counts survive changes of other settings. One that is not enforced lets every request through. */
export function breakerStep(
  name: string,
  settings: BreakerSettings,
  context: ModuleContext,
  enforce: boolean,
): RequestStep {
  const { clock } = context
  const breaker = context.getOrCreate(name, JSON.stringify(settings), () => new Breaker(settings))

  return (exchange) => {
    const now = clock.monotonic()
    const decision = breaker.decide(now, !exchange.upgrading)
    exchange.note('circuit_breaker.decision', decision)
    if (decision === 'block') {
      if (!enforce) return undefined
      throw edgeError('breaker_open', exchange.head.host).withRetryAfter(breaker.retryAfterSeconds(now))
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
    exchange.onResponse(({ status }) => record(status))
    exchange.onFinish(({ status }) => record(status))
    return undefined
  }
}

import { CircuitBreaker, type Settings } from '../../resources/index.ts'
import { refusal } from '../errors.ts'
import { defineModule } from '../module.ts'
import { Breaker } from './breaker.ts'
import type { World } from './context.ts'

/** Stops sending requests to an upstream that keeps failing, and tries it again from time to time. */
export const circuitBreaker = defineModule(CircuitBreaker, {
  phase: 'request',
  build(settings: Settings<typeof CircuitBreaker>, world: World) {
    const { clock } = world
    const breaker = world.keep(CircuitBreaker.name, JSON.stringify(settings), () => new Breaker(settings))

    return (exchange) => {
      const now = clock.monotonic()
      const decision = breaker.decide(now, !exchange.upgrading)
      exchange.note('circuit_breaker.decision', decision)
      if (decision === 'block')
        throw refusal('breaker_open', exchange.head.host).for(breaker.secondsLeft(now))
      const probing = decision === 'allow_while_open'
      // Judged when the answer begins: a WebSocket or a long download may take hours to finish.
      let judged = false
      const judge = (status: number) => {
        if (judged) return
        judged = true
        // Without a status the visitor left first, which says nothing about the upstream.
        if (status === 0) breaker.abandon(probing)
        else breaker.note(status >= 500, probing, clock.monotonic())
      }
      exchange.whenAnswered(({ status }) => judge(status))
      exchange.whenFinished(({ status }) => judge(status))
      return undefined
    }
  },
})

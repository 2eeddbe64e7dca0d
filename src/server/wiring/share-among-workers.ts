import type { Parts } from './start-order.ts'

/** How often workers tell each other how many connections they hold. */
const HOLDERS_INTERVAL_MS = 100

/** Counts against limits together with the other workers, and shows the requests that SSH clients watch at each other. */
export function shareAmongWorkers({
  foundation: { bus },
  traffic: { agentGateway, sshGateway, requestLog },
}: Parts): void {
  const gateways = { agent: agentGateway, ssh: sshGateway }
  const limiters = new Map(
    Object.values(gateways).flatMap(({ sharedCounts }) => Object.entries(sharedCounts)),
  )
  bus.subscribe('holders', ({ limit, counts }, sender) => limiters.get(limit)?.setCountsOf(sender, counts))
  bus.subscribe('loginFailed', ({ gateway, ip }) => gateways[gateway].recordAuthFailure(ip))
  bus.subscribe('requestLog', (update, sender) => requestLog.receive(sender, update))
  bus.subscribe('joined', (_, sender) => {
    requestLog.onWorkerStarted(sender)
    for (const limiter of limiters.values()) {
      limiter.forgetCountsOf(sender)
      limiter.share()
    }
  })
  for (const limiter of limiters.values()) limiter.share()
  requestLog.share((update) => bus.publish('requestLog', update))
  bus.publish('joined', true)
  setInterval(() => {
    for (const [limit, limiter] of limiters) {
      const counts = limiter.takeChanges()
      if (counts.length > 0) bus.publish('holders', { limit, counts })
    }
  }, HOLDERS_INTERVAL_MS).unref()
}

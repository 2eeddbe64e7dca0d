import type { WorkerUpdate } from '../process/worker-messages.ts'
import type { Parts } from './start-order.ts'

/** How often workers tell each other how many connections they hold. */
const HOLDERS_INTERVAL_MS = 100

/**
 * Tells the other workers what this one counts against limits, and the requests that their SSH clients watch; returns what
 * to do with what they tell.
 */
export function exchangeUpdates({
  foundation: { worker },
  traffic: { agentGateway, sshGateway, requestLog },
}: Parts): (sender: number, update: WorkerUpdate) => void {
  const tell = (update: WorkerUpdate) => worker?.broadcast(update)
  const gateways = { agent: agentGateway, ssh: sshGateway }
  const limiters = new Map(
    Object.values(gateways).flatMap(({ sharedCounts }) => Object.entries(sharedCounts)),
  )
  for (const limiter of limiters.values()) limiter.share()
  requestLog.share((update) => tell({ requestLog: update }))
  tell({ started: true })
  setInterval(() => {
    for (const [name, limiter] of limiters) {
      const changes = limiter.takeChanges()
      if (changes.length > 0) tell({ holders: { name, counts: changes } })
    }
  }, HOLDERS_INTERVAL_MS).unref()
  return (sender, update) => {
    if ('holders' in update) limiters.get(update.holders.name)?.setCountsOf(sender, update.holders.counts)
    else if ('started' in update) {
      requestLog.onWorkerStarted(sender)
      for (const limiter of limiters.values()) {
        limiter.forgetCountsOf(sender)
        limiter.share()
      }
    } else if ('requestLog' in update) requestLog.receive(sender, update.requestLog)
    else gateways[update.loginFailed.gateway].recordAuthFailure(update.loginFailed.ip)
  }
}

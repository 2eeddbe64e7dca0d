import type { Parts } from '../wiring/start-order.ts'
import type { WorkerUpdate } from './messages.ts'

/** How often workers tell each other what they have counted. */
const COUNTS_INTERVAL_MS = 100

/**
 * Tells the other workers what this one counts against limits, and the requests that their SSH clients watch; returns what
 * to do with what they tell.
 */
export function exchangeUpdates({
  foundation: { worker },
  traffic: { edge, agentGateway, sshGateway, requestLog },
}: Parts): (from: number, update: WorkerUpdate) => void {
  const tell = (update: WorkerUpdate) => worker?.broadcast(update)
  const gateways = { agent: agentGateway, ssh: sshGateway }
  for (const { unauthenticated } of Object.values(gateways)) unauthenticated.share()
  requestLog.share((update) => tell({ requestLog: update }))
  tell({ started: true })
  setInterval(() => {
    const counts = edge.sharedCounts.take()
    if (counts.length > 0) tell({ counts })
    for (const gateway of ['agent', 'ssh'] as const) {
      const changes = gateways[gateway].unauthenticated.takeChanges()
      if (changes.length > 0) tell({ unauthenticated: { gateway, counts: changes } })
    }
  }, COUNTS_INTERVAL_MS).unref()
  return (from, update) => {
    if ('counts' in update) edge.sharedCounts.add(update.counts)
    else if ('unauthenticated' in update) {
      const { gateway, counts } = update.unauthenticated
      gateways[gateway].unauthenticated.setElsewhere(from, counts)
    } else if ('started' in update) {
      requestLog.onWorkerStarted(from)
      for (const { unauthenticated } of Object.values(gateways)) {
        unauthenticated.forgetElsewhere(from)
        unauthenticated.share()
      }
    } else if ('requestLog' in update) requestLog.receive(from, update.requestLog)
    else gateways[update.loginFailed.gateway].recordAuthFailure(update.loginFailed.ip)
  }
}

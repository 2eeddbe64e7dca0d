import type { Parts } from '../wiring/start-order.ts'
import type { WorkerNews } from './messages.ts'

/** How often workers tell each other what they have counted. */
const COUNTS_INTERVAL_MS = 100

/** Tells the other workers what this one counts against limits; returns what to do with what they tell. */
export function shareLimits({
  foundation: { worker },
  traffic: { edge, agentGateway, sshGateway },
}: Parts): (news: WorkerNews) => void {
  setInterval(() => {
    const counts = edge.sharedCounts.take()
    if (counts.length > 0) worker?.tellOthers({ counts })
  }, COUNTS_INTERVAL_MS).unref()
  const gateways = { agent: agentGateway, ssh: sshGateway }
  return (news) => {
    if ('counts' in news) edge.sharedCounts.add(news.counts)
    else gateways[news.loginFailed.gateway].recordAuthFailure(news.loginFailed.ip)
  }
}

import type { Parts } from '../wiring/start-order.ts'
import type { WorkerNews } from './messages.ts'

/** How often workers tell each other what they have counted. */
const COUNTS_INTERVAL_MS = 100

/**
 * Tells the other workers what this one counts against limits, and the requests that their SSH clients watch; returns what
 * to do with what they tell.
 */
export function exchangeNews({
  foundation: { worker },
  traffic: { edge, agentGateway, sshGateway, requestLog },
}: Parts): (from: number, news: WorkerNews) => void {
  setInterval(() => {
    const counts = edge.sharedCounts.take()
    if (counts.length > 0) worker?.tellOthers({ counts })
  }, COUNTS_INTERVAL_MS).unref()
  requestLog.share((news) => worker?.tellOthers({ requestLog: news }))
  const gateways = { agent: agentGateway, ssh: sshGateway }
  return (from, news) => {
    if ('counts' in news) edge.sharedCounts.add(news.counts)
    else if ('requestLog' in news) requestLog.receive(from, news.requestLog)
    else gateways[news.loginFailed.gateway].recordAuthFailure(news.loginFailed.ip)
  }
}

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
  const tell = (news: WorkerNews) => worker?.tellOthers(news)
  const gateways = { agent: agentGateway, ssh: sshGateway }
  for (const { unauthenticated } of Object.values(gateways)) unauthenticated.share()
  requestLog.share((news) => tell({ requestLog: news }))
  tell({ started: true })
  setInterval(() => {
    const counts = edge.sharedCounts.take()
    if (counts.length > 0) tell({ counts })
    for (const gateway of ['agent', 'ssh'] as const) {
      const changes = gateways[gateway].unauthenticated.takeChanges()
      if (changes.length > 0) tell({ unauthenticated: { gateway, counts: changes } })
    }
  }, COUNTS_INTERVAL_MS).unref()
  return (from, news) => {
    if ('counts' in news) edge.sharedCounts.add(news.counts)
    else if ('unauthenticated' in news) {
      const { gateway, counts } = news.unauthenticated
      gateways[gateway].unauthenticated.setElsewhere(from, counts)
    } else if ('started' in news) {
      requestLog.onWorkerStarted(from)
      for (const { unauthenticated } of Object.values(gateways)) {
        unauthenticated.forgetElsewhere(from)
        unauthenticated.share()
      }
    } else if ('requestLog' in news) requestLog.receive(from, news.requestLog)
    else gateways[news.loginFailed.gateway].recordAuthFailure(news.loginFailed.ip)
  }
}

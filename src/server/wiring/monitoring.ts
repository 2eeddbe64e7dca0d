import { registerPlatformMetrics } from '../metrics.ts'
import type { Background } from './background.ts'
import type { Foundation } from './foundation.ts'
import type { ProcessReadiness } from './readiness.ts'
import type { TrafficParts } from './traffic.ts'

/** The metrics of every process, also of workers. */
export type Monitoring = ReturnType<typeof wireMonitoring>

/** Registers the metrics of traffic, and watches how old the configuration is. */
export function wireMonitoring(
  { metrics, store, clock }: Foundation,
  { certs }: Pick<Background, 'certs'>,
  { edge, agentGateway, registry }: TrafficParts,
  { stalenessMonitor, splitFrom }: ProcessReadiness,
) {
  registerPlatformMetrics(metrics, {
    edge,
    staleness: stalenessMonitor.staleness,
    agents: () => agentGateway.connections,
    tunnels: () => registry.ownTunnels,
    expiries: certs.expiries,
    now: clock.now,
    isSplit: () => splitFrom() !== undefined,
    lostRevisions: (count) => store.history.onLoss(({ revisions = 1 }) => count(revisions)),
    heap: () => process.memoryUsage.rss(),
  })
  return { stalenessMonitor }
}

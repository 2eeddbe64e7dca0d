import { createStalenessMonitor } from '../../store/index.ts'
import { registerPlatformMetrics } from '../metrics.ts'
import type { Foundation } from './foundation.ts'
import type { TrafficParts } from './traffic.ts'

/** The metrics of every process, also of workers. */
export type Monitoring = ReturnType<typeof wireMonitoring>

/** Registers the metrics of traffic, and watches how old the configuration is. */
export function wireMonitoring({ store, clock, metrics }: Foundation, { edge, agentGateway }: TrafficParts) {
  const stalenessMonitor = createStalenessMonitor({ check: store.check, clock })
  registerPlatformMetrics(metrics, {
    edge,
    staleness: stalenessMonitor.staleness,
    agents: () => agentGateway.connections,
    heap: () => process.memoryUsage.rss(),
  })
  return { stalenessMonitor }
}

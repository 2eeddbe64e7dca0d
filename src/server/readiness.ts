import type { Readiness } from '../api/index.ts'
import { createStalenessMonitor } from '../store/index.ts'
import type { Foundation } from './wiring/foundation.ts'

/** What a process says of itself to balancers and rollouts, and how old its configuration is. */
export type ProcessReadiness = ReturnType<typeof createReadiness>

/** Watches the database, and answers what `/readyz` asks. `isServing`: started, and not stopping yet. */
export function createReadiness(
  { store, clock, workers, carriesTraffic }: Foundation,
  isServing: () => boolean,
): Readiness & { readonly stalenessMonitor: ReturnType<typeof createStalenessMonitor> } {
  const stalenessMonitor = createStalenessMonitor({ check: store.check, clock })
  const serving = () => {
    if (!isServing()) throw new Error('The server is starting or stopping.')
    if (workers?.problem !== undefined) throw new Error(workers.problem)
    const { outage } = stalenessMonitor
    // Traffic goes on without the database; the API and jobs cannot.
    if (outage !== undefined && !carriesTraffic) throw outage
    return { database: outage === undefined ? 'available' : 'unavailable' } as const
  }
  return {
    stalenessMonitor,
    serving,
    async verify() {
      serving()
      await store.check()
      await store.checkWritable()
    },
  }
}

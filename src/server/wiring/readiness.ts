import { createStalenessMonitor } from '../../store/index.ts'
import type { Foundation } from './foundation.ts'

/** What a process says of itself to balancers and rollouts, and how old its configuration is. */
export type ProcessReadiness = ReturnType<typeof createReadiness>

/** Watches the database, and answers what `/readyz` asks. `isServing`: started, and not stopping yet. */
export function createReadiness(
  { store, clock, workers, carriesTraffic }: Foundation,
  isServing: () => boolean,
) {
  const stalenessMonitor = createStalenessMonitor({ check: async () => store.checkAvailable(), clock })
  const database = () =>
    stalenessMonitor.outage === undefined ? ('available' as const) : ('unavailable' as const)
  const serving = () => {
    if (!isServing()) throw new Error('The server is starting or stopping.')
    if (workers?.problem !== undefined) throw new Error(workers.problem)
    const { outage } = stalenessMonitor
    // Traffic goes on without the database; the API and jobs cannot.
    if (outage !== undefined && !carriesTraffic) throw outage
    return { database: database() }
  }
  return {
    stalenessMonitor,
    database,
    serving,
    /** A linked node that uses another database. */
    splitFrom: (): string | undefined => undefined,
    async verify() {
      serving()
      const peer = this.splitFrom()
      if (peer !== undefined)
        throw new Error(
          `The node ${peer} uses a different database: stop the one of the two that should not continue.`,
        )
      await store.check()
      await store.checkWritable()
    },
  }
}

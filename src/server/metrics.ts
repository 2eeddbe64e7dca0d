import { Counter, Gauge, type Registry } from 'prom-client'
import type { Edge } from '../edge/index.ts'

/** The counters of an edge or route. */
const COUNTERS = ['requests', 'connections', 'rejections', 'errors'] as const

/** Registers metrics that are read from the parts at each scrape, so that they cost traffic nothing. */
export function registerPlatformMetrics(
  registry: Registry,
  parts: {
    edge: Edge
    agents: () => number
    heap: () => number
    staleness: () => number
    isSplit: () => boolean
    /** Passes a function that counts lost revisions to who notices them. */
    lostRevisions: (count: (revisions: number) => void) => void
  },
): void {
  const { edge } = parts
  for (const name of COUNTERS) {
    const counter: Counter<'account' | 'edge' | 'scope'> = new Counter({
      name: `adit_edge_${name}_total`,
      help: `${name[0]!.toUpperCase()}${name.slice(1)} of an edge, or of one of its routes, since the start.`,
      labelNames: ['account', 'edge', 'scope'],
      registers: [registry],
      collect() {
        // The parts count; a scrape copies the totals.
        counter.reset()
        for (const { accountId, edgeId, scopeId, counters } of edge.scopes.counts())
          counter.inc({ account: accountId, edge: edgeId, scope: scopeId }, counters[name])
      },
    })
  }
  const agents: Gauge = new Gauge({
    name: 'adit_agent_connections',
    help: 'Agents that are connected now, authenticated or not.',
    registers: [registry],
    collect: () => agents.set(parts.agents()),
  })
  const brokenScopes: Gauge = new Gauge({
    name: 'adit_edge_broken_places',
    help: 'Edges and routes that deny everyone because something they need is missing.',
    registers: [registry],
    collect: () => brokenScopes.set([...edge.scopes.broken()].length),
  })
  const heap: Gauge = new Gauge({
    name: 'adit_resident_bytes',
    help: 'Memory of the process.',
    registers: [registry],
    collect: () => heap.set(parts.heap()),
  })
  const staleness: Gauge = new Gauge({
    name: 'adit_config_staleness_seconds',
    help: 'Time since the database last answered; the configuration served may be as old.',
    registers: [registry],
    collect: () => staleness.set(parts.staleness()),
  })
  const split: Gauge = new Gauge({
    name: 'adit_database_split',
    help: '1 while a linked node uses another database.',
    registers: [registry],
    collect: () => split.set(parts.isSplit() ? 1 : 0),
  })
  const lost = new Counter({
    name: 'adit_lost_revisions_total',
    help: 'Revisions of the database that this process had seen and that are gone.',
    registers: [registry],
  })
  parts.lostRevisions((revisions) => lost.inc(revisions))
}

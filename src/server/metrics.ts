import { Gauge, type Registry } from 'prom-client'
import type { Edge } from '../edge/index.ts'

/** What one place of an edge has counted. */
const COUNTED = ['requests', 'connections', 'refusals', 'errors'] as const

/** Metrics that are read from the parts when somebody asks, so that counting costs traffic nothing. */
export function exposePlatform(
  registry: Registry,
  parts: { edge: Edge; agents: () => number; heap: () => number; staleness: () => number },
): void {
  const { edge } = parts
  for (const what of COUNTED) {
    const gauge: Gauge<'account' | 'edge' | 'place'> = new Gauge({
      name: `adit_edge_${what}_total`,
      help: `${what[0]!.toUpperCase()}${what.slice(1)} of an edge, or of one of its routes, since the start.`,
      labelNames: ['account', 'edge', 'place'],
      registers: [registry],
      collect() {
        gauge.reset()
        for (const { accountId, edgeId, placeId, counters } of edge.places.counts())
          gauge.set({ account: accountId, edge: edgeId, place: placeId }, counters[what])
      },
    })
  }
  const agents: Gauge = new Gauge({
    name: 'adit_agent_connections',
    help: 'Agents that are connected now, authenticated or not.',
    registers: [registry],
    collect: () => agents.set(parts.agents()),
  })
  const broken: Gauge = new Gauge({
    name: 'adit_edge_broken_places',
    help: 'Edges and routes that deny everyone because something they need is missing.',
    registers: [registry],
    collect: () => broken.set([...edge.places.broken()].length),
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
}

import { Counter, Gauge, type Metric, type Registry } from 'prom-client'
import { type Edge, TIME_BOUNDS } from '../edge/index.ts'

/** The counters of an edge or route. */
const COUNTERS = ['requests', 'connections', 'rejections', 'errors'] as const

/** Registers metrics that are read from the parts at each scrape, so that they cost traffic nothing. */
export function registerPlatformMetrics(
  registry: Registry,
  parts: {
    edge: Edge
    agents: () => number
    tunnels: () => number
    /** When certificates expire, in milliseconds since 1970, as `now` is. */
    expiries: () => readonly number[]
    now: () => number
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
  registerTraffic(registry, edge)
  const tunnels: Gauge = new Gauge({
    name: 'adit_tunnels',
    help: 'Endpoints and labelled tunnels whose agents are connected to this process.',
    registers: [registry],
    collect: () => tunnels.set(parts.tunnels()),
  })
  const certificates: Gauge<'state'> = new Gauge({
    name: 'adit_certificates',
    help: 'Certificates, valid or expired, without the private root and those it issued.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const expired = parts.expiries().filter((expiry) => expiry <= parts.now()).length
      certificates.set({ state: 'expired' }, expired)
      certificates.set({ state: 'valid' }, parts.expiries().length - expired)
    },
  })
  const nextExpiry: Gauge = new Gauge({
    name: 'adit_certificate_expiry_seconds',
    help: 'Time until the next certificate expires; absent if none is valid.',
    registers: [registry],
    collect() {
      const left = parts.expiries().map((expiry) => expiry - parts.now())
      const first = left.reduce((least, each) => (each > 0 && each < least ? each : least), Infinity)
      if (Number.isFinite(first)) nextExpiry.set(first / 1000)
      else nextExpiry.remove()
    },
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
    help: 'Revisions of the database that this process had seen and that no longer exist.',
    registers: [registry],
  })
  parts.lostRevisions((revisions) => lost.inc(revisions))
}

/** What the edge counts for each account. */
function registerTraffic(registry: Registry, { traffic }: Pick<Edge, 'traffic'>): void {
  const responses: Counter<'account' | 'class'> = new Counter({
    name: 'adit_responses_total',
    help: 'Responses to visitors by class of status, since the start.',
    labelNames: ['account', 'class'],
    registers: [registry],
    collect() {
      responses.reset()
      for (const [account, { statuses }] of traffic.accounts())
        for (const [digit, count] of statuses.entries())
          if (digit > 0) responses.inc({ account, class: `${digit}xx` }, count)
    },
  })
  const bytes: Counter<'account' | 'direction'> = new Counter({
    name: 'adit_bytes_total',
    help: 'Bytes of bodies and of raw connections, from visitors (in) and to them (out), since the start.',
    labelNames: ['account', 'direction'],
    registers: [registry],
    collect() {
      bytes.reset()
      for (const [account] of traffic.accounts()) {
        const { bytes_in, bytes_out } = traffic.totals(account)
        bytes.inc({ account, direction: 'in' }, bytes_in)
        bytes.inc({ account, direction: 'out' }, bytes_out)
      }
    },
  })
  registry.registerMetric(responseTimes(traffic))
}

/** A histogram of the library counts by itself; here the edge has counted. */
function responseTimes(traffic: Edge['traffic']): Metric {
  const name = 'adit_response_seconds'
  const values = () =>
    [...traffic.accounts()].flatMap(
      ([
        account,
        {
          responseTimes: { counts, sum },
        },
      ]) => {
        let total = 0
        const buckets = counts.map((count, index) => {
          total += count
          return {
            labels: { account, le: TIME_BOUNDS[index] ?? '+Inf' },
            value: total,
            metricName: `${name}_bucket`,
          }
        })
        return [
          ...buckets,
          { labels: { account }, value: sum, metricName: `${name}_sum` },
          { labels: { account }, value: total, metricName: `${name}_count` },
        ]
      },
    )
  const help = 'How long visitors waited for response headers.'
  return {
    name,
    get: async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: values() }),
    reset() {},
  } as unknown as Metric
}

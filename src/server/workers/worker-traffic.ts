import { AggregatorRegistry, type Registry } from 'prom-client'
import type { Edge, FailedSignIn } from '../../edge/index.ts'
import type { Metrics } from '../process/worker-messages.ts'
import type { Workers } from './workers.ts'

type Totals = ReturnType<Edge['traffic']['totals']>
type Countries = ReturnType<Edge['traffic']['countries']>
type History = ReturnType<Edge['traffic']['history']>

/** The traffic of all workers together, for the dashboard. */
export function createWorkerTraffic(workers: Pick<Workers, 'callAll'>) {
  return {
    traffic: {
      totals: async (accountId: string) => sumTotals(valuesOf(await workers.callAll('totals', accountId))),
      history: async (accountId: string) =>
        sumHistories(valuesOf(await workers.callAll('history', accountId))),
      countries: async (accountId: string) =>
        sumCountries(valuesOf(await workers.callAll('countries', accountId))),
    },
    scopes: {
      async countsOf(accountId: string, edgeId: string) {
        return sumCounts(valuesOf(await workers.callAll('countsOf', accountId, edgeId)))
      },
      /** The same configuration is broken in the same places everywhere. */
      async brokenIn(accountId: string, edgeId: string) {
        return valuesOf(await workers.callAll('brokenIn', accountId, edgeId))[0] ?? []
      },
    },
    logins: {
      failuresOf: async (accountId: string) =>
        mergeFailures(valuesOf(await workers.callAll('failedSignIns', accountId))),
    },
  }
}

/**
 * The metrics of this process and of its workers, which have the label `worker`: one that is restarted counts from 0, and
 * a sum that falls would look like a restart of all of them.
 */
export async function renderMetrics(own: Registry, workers: Pick<Workers, 'callAll'>): Promise<string> {
  const labelled = [...(await workers.callAll('metrics'))]
    .sort(([a], [b]) => a - b)
    .map(([number, metrics]) => labelWorker(metrics, number))
  return AggregatorRegistry.aggregate([await own.getMetricsAsJSON(), ...labelled]).metrics()
}

function labelWorker(metrics: Metrics, worker: number): Metrics {
  return metrics.map((metric) => ({
    ...metric,
    values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, worker: String(worker) } })),
  }))
}

function valuesOf<T>(results: ReadonlyMap<number, T>): T[] {
  return [...results.values()]
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** Sums lists by position, from their last elements: a worker that was restarted has fewer intervals. */
function sumFromEnd(lists: readonly (readonly number[])[]): number[] {
  const length = Math.max(0, ...lists.map((list) => list.length))
  return Array.from({ length }, (_, index) => sum(lists.map((list) => list.at(index - length) ?? 0)))
}

function sumTotals(all: readonly Totals[]): Totals {
  const total = (pick: (totals: Totals) => number) => sum(all.map(pick))
  return {
    requests: total(({ requests }) => requests),
    connections: total(({ connections }) => connections),
    bytes_in: total(({ bytes_in }) => bytes_in),
    bytes_out: total(({ bytes_out }) => bytes_out),
    statuses: [0, 1, 2, 3, 4].map((index) => total(({ statuses }) => statuses[index] ?? 0)),
    open_requests: total(({ open_requests }) => open_requests),
    open_connections: total(({ open_connections }) => open_connections),
  }
}

function sumHistories(all: readonly History[]): History {
  const column = (pick: (history: History) => readonly number[]) => sumFromEnd(all.map(pick))
  return {
    interval_seconds: all[0]?.interval_seconds ?? 0,
    requests: column(({ requests }) => requests),
    connections: column(({ connections }) => connections),
    bytes_in: column(({ bytes_in }) => bytes_in),
    bytes_out: column(({ bytes_out }) => bytes_out),
    statuses: [0, 1, 2, 3, 4].map((index) => column(({ statuses }) => statuses[index] ?? [])),
  }
}

function sumCountries(all: readonly Countries[]): Countries {
  const totals = new Map<string | null, number>()
  for (const { country, connections } of all.flat())
    totals.set(country, (totals.get(country) ?? 0) + connections)
  return [...totals]
    .map(([country, connections]) => ({ country, connections }))
    .sort((one, other) => other.connections - one.connections)
}

/** Workers tell each other of failed sign-ins, so that most know all of them; one that has just started does not. */
function mergeFailures(all: readonly (readonly FailedSignIn[])[]): FailedSignIn[] {
  const byKey = Map.groupBy(all.flat(), ({ public_url, failure, person }) =>
    JSON.stringify([public_url, failure, person]),
  )
  return [...byKey.values()]
    .map((same) => same.reduce((one, other) => (other.count > one.count ? other : one)))
    .sort((one, other) => other.failed_at.localeCompare(one.failed_at))
}

function sumCounts(all: readonly ReturnType<Edge['scopes']['countsOf']>[]) {
  const [first = []] = all
  return first.map(({ scopeId }) => {
    const same = all.flatMap((counts) => counts.filter((each) => each.scopeId === scopeId))
    const total = (name: keyof (typeof same)[number]['counters']) =>
      sum(same.map(({ counters }) => counters[name]))
    return {
      scopeId,
      counters: {
        requests: total('requests'),
        connections: total('connections'),
        rejections: total('rejections'),
        errors: total('errors'),
      },
    }
  })
}

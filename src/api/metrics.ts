import { Counter, Histogram, type Registry } from 'prom-client'

interface Calls {
  readonly statuses: Map<number, number>
  readonly seconds: number[]
}

// A scrape that does not come must not make us keep every duration there was.
const MAX_KEPT = 10_000

/**
 * Counts and times the calls of the API. A call only adds to numbers of our own; they are handed to the metrics when
 * somebody asks for them.
 */
export function createApiMetrics(registry: Registry) {
  const byOperation = new Map<string, Calls>()
  const duration = new Histogram({
    name: 'adit_api_call_seconds',
    help: 'Time from the request to the answer of calls of the management API.',
    labelNames: ['operation'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
    collect: () => hand(),
  })
  const calls = new Counter({
    name: 'adit_api_calls_total',
    help: 'Calls of the management API.',
    labelNames: ['operation', 'status'],
    registers: [registry],
    collect: () => hand(),
  })

  function hand(): void {
    for (const [operation, { statuses, seconds }] of byOperation) {
      for (const [status, count] of statuses) calls.inc({ operation, status: String(status) }, count)
      statuses.clear()
      handDurations(operation, seconds)
    }
  }

  function handDurations(operation: string, seconds: number[]): void {
    for (const each of seconds) duration.observe({ operation }, each)
    seconds.length = 0
  }

  return {
    /** What notes the calls of one operation. */
    of(operation: string): (status: number, milliseconds: number) => void {
      const own: Calls = { statuses: new Map(), seconds: [] }
      byOperation.set(operation, own)
      return (status, milliseconds) => {
        own.statuses.set(status, (own.statuses.get(status) ?? 0) + 1)
        own.seconds.push(milliseconds / 1000)
        if (own.seconds.length >= MAX_KEPT) handDurations(operation, own.seconds)
      }
    },
  }
}

import { Counter, Histogram, type Registry } from 'prom-client'

interface PendingCalls {
  readonly statuses: Map<number, number>
  readonly seconds: number[]
}

// Bounds memory when no scrape comes.
const MAX_PENDING_DURATIONS = 10_000

/** Counts and times API calls. A call only updates plain numbers; a scrape flushes them to the metrics. */
export function createApiMetrics(registry: Registry) {
  const byOperation = new Map<string, PendingCalls>()
  const duration = new Histogram({
    name: 'adit_api_call_seconds',
    help: 'Time from the request to the answer of calls of the management API.',
    labelNames: ['operation'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
    collect: () => flush(),
  })
  const calls = new Counter({
    name: 'adit_api_calls_total',
    help: 'Calls of the management API.',
    labelNames: ['operation', 'status'],
    registers: [registry],
    collect: () => flush(),
  })

  function flush(): void {
    for (const [operation, { statuses, seconds }] of byOperation) {
      for (const [status, count] of statuses) calls.inc({ operation, status: String(status) }, count)
      statuses.clear()
      flushDurations(operation, seconds)
    }
  }

  function flushDurations(operation: string, seconds: number[]): void {
    for (const value of seconds) duration.observe({ operation }, value)
    seconds.length = 0
  }

  return {
    /** The recorder for calls of one operation. */
    forOperation(operation: string): (status: number, milliseconds: number) => void {
      const pending: PendingCalls = { statuses: new Map(), seconds: [] }
      byOperation.set(operation, pending)
      return (status, milliseconds) => {
        pending.statuses.set(status, (pending.statuses.get(status) ?? 0) + 1)
        pending.seconds.push(milliseconds / 1000)
        if (pending.seconds.length >= MAX_PENDING_DURATIONS) flushDurations(operation, pending.seconds)
      }
    },
  }
}

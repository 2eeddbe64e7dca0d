import { Counter, Histogram, type Registry } from 'prom-client'

/** Counts and times the calls of the API. */
export function createApiMetrics(registry: Registry) {
  const calls = new Counter({
    name: 'adit_api_calls_total',
    help: 'Calls of the management API.',
    labelNames: ['operation', 'status'],
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'adit_api_call_seconds',
    help: 'Time from the request to the answer of calls of the management API.',
    labelNames: ['operation'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  })
  return {
    observe(operation: string, status: number, milliseconds: number) {
      calls.inc({ operation, status: String(status) })
      duration.observe({ operation }, milliseconds / 1000)
    },
  }
}

import { Counter, Gauge, type Registry } from 'prom-client'

/** Registers what the control process knows of its workers; returns the counter of those that ended by themselves or hung. */
export function registerWorkerMetrics(
  registry: Registry,
  silentSeconds: () => Iterable<readonly [worker: number, seconds: number]>,
): Counter<'worker' | 'reason'> {
  const silence: Gauge<'worker'> = new Gauge({
    name: 'adit_worker_silent_seconds',
    help: 'How long a worker has not responded to the control process; 0 while it does.',
    labelNames: ['worker'],
    registers: [registry],
    collect() {
      for (const [worker, seconds] of silentSeconds()) silence.set({ worker }, seconds)
    },
  })
  return new Counter({
    name: 'adit_worker_restarts_total',
    help: 'Workers replaced because they had crashed or hung.',
    labelNames: ['worker', 'reason'],
    registers: [registry],
  })
}

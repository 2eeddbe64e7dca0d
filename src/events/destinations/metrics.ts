import { Counter, Gauge, type Registry } from 'prom-client'

/** The gauges of a destination at the time of a scrape. */
export interface SinkGauges {
  readonly destination: string
  readonly backlog: number
  readonly dead: number
  readonly overflowed: number
}

/** Registers the counters of deliveries and the gauges of each destination, which are collected on each scrape. */
export function createEventMetrics(registry: Registry, gauges: () => Promise<SinkGauges[]>) {
  const registers = [registry]
  const labelNames = ['destination'] as const
  const delivered = new Counter({
    name: 'adit_events_delivered_total',
    help: 'Events accepted by a destination.',
    labelNames,
    registers,
  })
  const failed = new Counter({
    name: 'adit_event_attempts_failed_total',
    help: 'Events that a destination did not accept in an attempt.',
    labelNames,
    registers,
  })
  const dropped = new Counter({
    name: 'adit_events_dropped_total',
    help: 'Traffic events dropped because the buffer was full or all attempts failed.',
    labelNames,
    registers,
  })
  const gauge = (name: string, help: string, value: (state: SinkGauges) => number) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      async collect() {
        const states = await gauges()
        this.reset()
        for (const state of states) this.set({ destination: state.destination }, value(state))
      },
    })
  gauge('adit_event_backlog', 'Events waiting for a destination.', ({ backlog }) => backlog)
  gauge('adit_event_dead', 'Dead letters, which can be replayed.', ({ dead }) => dead)
  gauge('adit_event_overflow', 'Events dropped because the queue was full.', ({ overflowed }) => overflowed)
  return { delivered, failed, dropped }
}

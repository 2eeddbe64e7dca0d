import { Counter, Gauge, type Registry } from 'prom-client'

/** What metrics show of a destination at the moment they are read. */
export interface SinkGauges {
  readonly destination: string
  readonly backlog: number
  readonly dead: number
  readonly overflowed: number
}

/** Counts deliveries, and shows how each destination stands when the metrics are read. */
export function createEventMetrics(registry: Registry, gauges: () => Promise<SinkGauges[]>) {
  const registers = [registry]
  const labelNames = ['destination'] as const
  const delivered = new Counter({
    name: 'adit_events_delivered_total',
    help: 'Events that a destination has taken.',
    labelNames,
    registers,
  })
  const failed = new Counter({
    name: 'adit_event_attempts_failed_total',
    help: 'Events that a destination did not take when tried.',
    labelNames,
    registers,
  })
  const dropped = new Counter({
    name: 'adit_events_dropped_total',
    help: 'Traffic events for which there was no room, or that were given up.',
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
  gauge('adit_event_backlog', 'Events that wait for a destination.', ({ backlog }) => backlog)
  gauge('adit_event_dead', 'Events that were given up and can be replayed.', ({ dead }) => dead)
  gauge('adit_event_overflow', 'Events that found no room in the queue.', ({ overflowed }) => overflowed)
  return { delivered, failed, dropped }
}

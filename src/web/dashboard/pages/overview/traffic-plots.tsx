import { useState } from 'react'
import type { TrafficHistory } from '../../../../dashboard/page-data.ts'
import { formatBytes } from '../../../shared/units.ts'
import { Card, SegmentedControl, useApi } from '../../kit/index.ts'
import { MAX_SAMPLES, ratesOf, type Sample } from '../live.ts'
import { type Series, TrafficPlot } from './traffic-plot.tsx'

/** With less history than this, as after the first start, the live plots say more. */
const MIN_HISTORY_SECONDS = 120
const MAX_HISTORY_SECONDS = 3600

const RANGES = [
  ['hour', 'Last hour'],
  ['live', 'Last 2 minutes'],
] as const
type Range = (typeof RANGES)[number][0]

const bytesPerSecond = (value: number) => `${formatBytes(Math.round(value))}/s`

/** A rate with one decimal while that says something. */
export const perSecond = (value: number) => `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)}/s`

/** The traffic of the last hour, which the server keeps, or of the last two minutes, live. */
export function TrafficPlots({ samples }: { samples: readonly Sample[] }) {
  const [chosenRange, setRange] = useState<Range>()
  const { value: history } = useApi<TrafficHistory>('/dashboard/api/traffic', { everyMs: 10_000 })
  const historySeconds = (history?.requests.length ?? 0) * (history?.interval_seconds ?? 0)
  const range = chosenRange ?? (historySeconds >= MIN_HISTORY_SECONDS ? 'hour' : 'live')
  const isHour = range === 'hour' && history !== undefined
  const rates = isHour ? historyRates(history) : liveRates(samples)
  const now = liveRates(samples)
  const time = isHour
    ? {
        secondsPerValue: history.interval_seconds,
        maxLength: MAX_HISTORY_SECONDS / history.interval_seconds,
      }
    : { secondsPerValue: 1, maxLength: MAX_SAMPLES }
  return (
    <>
      <div className="ranges">
        <SegmentedControl
          name="range"
          legend="Time range"
          options={RANGES}
          value={range}
          onValue={setRange}
        />
      </div>
      <div className="plots">
        <Card>
          <TrafficPlot
            title="Requests per second"
            series={statusSeries(rates, now)}
            stacked
            format={perSecond}
            {...time}
          />
        </Card>
        <Card>
          <TrafficPlot
            title="Data per second"
            series={[
              { name: 'In', tone: 'blue', values: rates.bytesIn, now: now.bytesIn.at(-1) },
              { name: 'Out', tone: 'accent', values: rates.bytesOut, now: now.bytesOut.at(-1) },
            ]}
            minScale={1000}
            format={bytesPerSecond}
            {...time}
          />
        </Card>
      </div>
    </>
  )
}

/** Rates per second, the newest last. */
interface Rates {
  /** Responses by status class: 1xx, 2xx, 3xx, 4xx, 5xx. */
  readonly statuses: readonly (readonly number[])[]
  readonly bytesIn: readonly number[]
  readonly bytesOut: readonly number[]
}

function liveRates(samples: readonly Sample[]): Rates {
  return {
    statuses: [0, 1, 2, 3, 4].map((index) => ratesOf(samples, ({ statuses }) => statuses[index] ?? 0)),
    bytesIn: ratesOf(samples, (sample) => sample.bytes_in),
    bytesOut: ratesOf(samples, (sample) => sample.bytes_out),
  }
}

function historyRates({ interval_seconds, statuses, bytes_in, bytes_out }: TrafficHistory): Rates {
  const perInterval = (counts: readonly number[]) => counts.map((count) => count / interval_seconds)
  return {
    statuses: statuses.map(perInterval),
    bytesIn: perInterval(bytes_in),
    bytesOut: perInterval(bytes_out),
  }
}

const STATUS_CLASSES: readonly (readonly [string, Series['tone']])[] = [
  ['Success', 'green'],
  ['Redirect', 'blue'],
  ['Client error', 'amber'],
  ['Server error', 'red'],
]

/** Responses by status class; 1xx counts as success. */
function statusSeries(rates: Rates, now: Rates): Series[] {
  const valuesOf = ({ statuses: [informational = [], ...others] }: Rates, index: number) =>
    (others[index] ?? []).map((value, interval) => value + (index === 0 ? (informational[interval] ?? 0) : 0))
  return STATUS_CLASSES.map(([name, tone], index) => ({
    name,
    tone,
    values: valuesOf(rates, index),
    now: valuesOf(now, index).at(-1),
  }))
}

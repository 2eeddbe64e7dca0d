import { KEPT } from '../live.ts'

/** One line or layer of a plot. */
export interface Series {
  readonly name: string
  readonly tone: 'accent' | 'green' | 'blue' | 'amber' | 'red' | 'quiet'
  /** A value for each second, the newest last. */
  readonly values: readonly number[]
}

const HEIGHT = 100
// A plot that has just begun is not lost in an empty two minutes.
const SHORTEST = 30

/**
 * The last seconds up to two minutes, the newest at the right. Layers stand on each other when `stacked`; a scale that fits what is
 * seen is written at its top.
 */
export function TrafficPlot({
  title,
  series,
  stacked = false,
  least = 1,
  scale,
}: {
  title: string
  series: readonly Series[]
  stacked?: boolean
  /** What the scale shows at least. */
  least?: number
  /** A value in words. */
  scale: (value: number) => string
}) {
  const layers = stacked
    ? stack(series)
    : series.map(({ values }) => ({ low: values.map(() => 0), high: values }))
  const most = niceCeiling(Math.max(least, ...layers.flatMap(({ high }) => high)))
  const length = Math.max(SHORTEST, ...series.map(({ values }) => values.length))
  const now = series.map(({ name, values }) => `${name} ${scale(values.at(-1) ?? 0)}`).join(', ')
  return (
    <figure className="traffic">
      <figcaption>
        <h2>{title}</h2>
        <ul className="traffic-legend">
          {series.map(({ name, tone, values }) => (
            <li key={name} className={tone}>
              {name} <b>{scale(values.at(-1) ?? 0)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div className="traffic-plot">
        <svg
          viewBox={`${KEPT - length + 1} 0 ${length - 1} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title} in the last ${spanOf(length)}; now: ${now}`}
        >
          <path className="grid" d={`M0 ${HEIGHT / 2}H${KEPT}M0 .5H${KEPT}`} />
          {layers.map((layer, index) => (
            <g key={series[index]!.name} className={series[index]!.tone}>
              <path className="area" d={area(layer, most)} />
              {!stacked && <path className="edge" d={line(layer.high, most)} />}
            </g>
          ))}
        </svg>
        <span className="traffic-top">{scale(most)}</span>
        <span className="traffic-from">{spanOf(length)} ago</span>
        <span className="traffic-to">now</span>
      </div>
    </figure>
  )
}

function spanOf(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : `${Math.round(seconds / 6) / 10} min`
}

interface Layer {
  readonly low: readonly number[]
  readonly high: readonly number[]
}

function stack(series: readonly Series[]): Layer[] {
  const length = Math.max(0, ...series.map(({ values }) => values.length))
  let low: readonly number[] = new Array<number>(length).fill(0)
  return series.map(({ values }) => {
    const layer = { low, high: low.map((base, index) => base + (values[index] ?? 0)) }
    low = layer.high
    return layer
  })
}

const x = (index: number, length: number) => KEPT - (length - 1 - index)
const y = (value: number, most: number) => (HEIGHT - (value / most) * (HEIGHT - 2)).toFixed(2)

function line(values: readonly number[], most: number): string {
  return values
    .map((value, index) => `${index === 0 ? 'M' : 'L'}${x(index, values.length)} ${y(value, most)}`)
    .join('')
}

function area({ low, high }: Layer, most: number): string {
  if (high.length === 0) return ''
  const back = low
    .map((value, index) => `L${x(index, low.length)} ${y(value, most)}`)
    .reverse()
    .join('')
  return `${line(high, most)}${back}Z`
}

/** The next of 1, 2 and 5 times a power of ten, so that the scale seldom changes. */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 5, 10].find((step) => step * power >= value) ?? 10
  return step * power
}

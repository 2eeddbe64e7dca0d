/** One line or layer of a plot. */
export interface Series {
  readonly name: string
  readonly tone: 'accent' | 'green' | 'blue' | 'amber' | 'red' | 'quiet'
  /** The newest last. */
  readonly values: readonly number[]
  /** The current value, for the legend. */
  readonly now: number | undefined
}

const HEIGHT = 100
// A new plot starts with a short time axis, not with empty minutes.
const MIN_LENGTH = 30

/**
 * Plots at most `maxLength` values, the newest at the right. `stacked` draws layers on top of each other. The scale
 * fits the visible values, and its maximum is labelled.
 */
export function TrafficPlot({
  title,
  series,
  stacked = false,
  minScale = 1,
  secondsPerValue,
  maxLength,
  format,
}: {
  title: string
  series: readonly Series[]
  stacked?: boolean
  /** The minimum of the upper end of the scale. */
  minScale?: number
  secondsPerValue: number
  maxLength: number
  /** Formats a value. */
  format: (value: number) => string
}) {
  const layers = stacked
    ? stack(series)
    : series.map(({ values }) => ({ bottom: values.map(() => 0), top: values }))
  const max = niceCeiling(Math.max(minScale, ...layers.flatMap(({ top }) => top)))
  const length = Math.min(maxLength, Math.max(MIN_LENGTH, ...series.map(({ values }) => values.length)))
  const latest = series.map(({ name, now }) => `${name} ${format(now ?? 0)}`).join(', ')
  return (
    <figure className="traffic">
      <figcaption>
        <h2>{title}</h2>
        <ul className="traffic-legend">
          {series.map(({ name, tone, now }) => (
            <li key={name} className={tone}>
              {name} <b>{format(now ?? 0)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div className="traffic-plot">
        <svg
          viewBox={`${1 - length} 0 ${length - 1} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title} in the last ${spanOf(length * secondsPerValue)}; now: ${latest}`}
        >
          <path className="grid" d={`M${1 - length} ${HEIGHT / 2}H0M${1 - length} .5H0`} />
          {layers.map((layer, index) => (
            <g key={series[index]!.name} className={series[index]!.tone}>
              <path className="area" d={area(layer, max)} />
              {!stacked && <path className="edge" d={line(layer.top, max)} />}
            </g>
          ))}
        </svg>
        <span className="traffic-top">{format(max)}</span>
        <span className="traffic-from">{spanOf(length * secondsPerValue)} ago</span>
        <span className="traffic-to">now</span>
      </div>
    </figure>
  )
}

function spanOf(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : `${Math.round(seconds / 6) / 10} min`
}

interface Layer {
  readonly bottom: readonly number[]
  readonly top: readonly number[]
}

function stack(series: readonly Series[]): Layer[] {
  const length = Math.max(0, ...series.map(({ values }) => values.length))
  let bottom: readonly number[] = new Array<number>(length).fill(0)
  return series.map(({ values }) => {
    const layer = { bottom, top: bottom.map((base, index) => base + (values[index] ?? 0)) }
    bottom = layer.top
    return layer
  })
}

/** The newest value is at 0, the others to its left. */
const x = (index: number, length: number) => index - length + 1
const y = (value: number, max: number) => (HEIGHT - (value / max) * (HEIGHT - 2)).toFixed(2)

function line(values: readonly number[], max: number): string {
  return values
    .map((value, index) => `${index === 0 ? 'M' : 'L'}${x(index, values.length)} ${y(value, max)}`)
    .join('')
}

function area({ bottom, top }: Layer, max: number): string {
  if (top.length === 0) return ''
  const baseline = bottom
    .map((value, index) => `L${x(index, bottom.length)} ${y(value, max)}`)
    .reverse()
    .join('')
  return `${line(top, max)}${baseline}Z`
}

/** Rounds up to 1, 2 or 5 times a power of ten, so that the scale seldom changes. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 5, 10].find((step) => step * power >= value) ?? 10
  return step * power
}

const WIDTH = 180
const HEIGHT = 36

/** A sparkline of the latest values, with the current value and the maximum. */
export function Plot({ values, label }: { values: readonly number[]; label: string }) {
  const max = Math.max(1, ...values)
  const step = WIDTH / Math.max(1, values.length - 1)
  const points = values.map((value, index) => `${index * step},${HEIGHT - 2 - (value / max) * (HEIGHT - 4)}`)
  const last = values.at(-1) ?? 0
  return (
    <figure className="plot">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label} preserveAspectRatio="none">
        <polyline points={points.join(' ')} />
      </svg>
      <figcaption>
        {last.toFixed(1)}/s now, {Math.max(0, ...values).toFixed(1)}/s max
      </figcaption>
    </figure>
  )
}

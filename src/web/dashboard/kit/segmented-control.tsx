interface Props<T extends string> {
  readonly name: string
  readonly legend: string
  readonly options: readonly (readonly [value: T, label: string])[]
  readonly value: T
  readonly onValue: (value: T) => void
}

/** Radio buttons in one row, for a choice of few short words. */
export function SegmentedControl<T extends string>({ name, legend, options, value, onValue }: Props<T>) {
  return (
    <fieldset className="segments">
      <legend className="hidden">{legend}</legend>
      {options.map(([option, label]) => (
        <label key={option}>
          <input type="radio" name={name} checked={value === option} onChange={() => onValue(option)} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  )
}

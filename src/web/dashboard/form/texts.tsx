import { useId, useState } from 'react'
import { Button, type ControlProps } from '../kit/index.ts'

/** A list of strings, one per line. */
export function LinesInput({
  value,
  onValue,
  control,
}: {
  value: readonly string[]
  onValue: (value: string[]) => void
  control: ControlProps
}) {
  // The text keeps empty lines while typing; the value does not.
  const [text, setText] = useState(value.join('\n'))
  return (
    <textarea
      {...control}
      className="code"
      rows={Math.min(8, Math.max(3, text.split('\n').length))}
      value={text}
      onChange={(event) => {
        setText(event.target.value)
        onValue(
          event.target.value
            .split('\n')
            .map((line) => line.trim())
            .filter((line) => line !== ''),
        )
      }}
    />
  )
}

/** Name and value pairs, one row each. */
export function PairsInput({
  label,
  value,
  numbers,
  onValue,
  control,
}: {
  label: string
  value: Readonly<Record<string, unknown>>
  /** The values are numbers. */
  numbers: boolean
  onValue: (value: Record<string, unknown> | undefined) => void
  control: ControlProps
}) {
  // Rows, not a map: while typing, two names may be equal for a moment.
  const [rows, setRows] = useState<readonly (readonly [string, string])[]>(() =>
    Object.entries(value).map(([key, each]) => [key, String(each)]),
  )
  const change = (next: readonly (readonly [string, string])[]) => {
    setRows(next)
    const filled = next.filter(([key]) => key !== '')
    onValue(
      filled.length === 0
        ? undefined
        : Object.fromEntries(filled.map(([key, each]) => [key, numbers ? Number(each) : each])),
    )
  }
  const setRow = (index: number, row: readonly [string, string]) =>
    change(rows.map((each, position) => (position === index ? row : each)))
  return (
    <div className="pairs">
      {rows.map(([key, each], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity while typing.
        <div key={index} className="pair">
          <input
            className="code"
            aria-label={`${label}: name ${index + 1}`}
            placeholder="name"
            value={key}
            onChange={(event) => setRow(index, [event.target.value, each])}
          />
          <input
            className="code"
            aria-label={`${label}: value ${index + 1}`}
            placeholder="value"
            value={each}
            onChange={(event) => setRow(index, [key, event.target.value])}
          />
          <Button
            kind="quiet"
            aria-label={`Remove ${key || `row ${index + 1}`}`}
            onClick={() => change(rows.filter((_, position) => position !== index))}
          >
            ✕
          </Button>
        </div>
      ))}
      <Button
        id={control.id}
        aria-label={`Add: ${label}`}
        aria-describedby={control['aria-describedby']}
        onClick={() => setRows([...rows, ['', '']])}
      >
        Add
      </Button>
    </div>
  )
}

/** A text input with suggestions. */
export function SuggestInput({
  suggestions,
  value,
  onValue,
  control,
}: {
  suggestions: readonly string[]
  value: string
  onValue: (value: string) => void
  control: ControlProps
}) {
  const id = useId()
  return (
    <>
      <input
        {...control}
        list={id}
        autoComplete="off"
        value={value}
        onChange={(event) => onValue(event.target.value)}
      />
      <datalist id={id}>
        {suggestions.map((suggestion) => (
          <option key={suggestion} value={suggestion} />
        ))}
      </datalist>
    </>
  )
}

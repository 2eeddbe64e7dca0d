import { useState } from 'react'
import { Button, type ControlProps } from '../kit/index.ts'
import { hrefTo } from '../route.ts'
import { useReferenceOptions } from './references.ts'

/** Selects one resource by its description; an id that is not in the list can be typed. */
export function Picker({
  prefixes,
  value,
  onValue,
  control,
}: {
  prefixes: readonly string[]
  value: string | undefined
  onValue: (value: string | undefined) => void
  control: ControlProps
}) {
  const { options, one, create } = useReferenceOptions(prefixes)
  const [typing, setTyping] = useState(false)
  if (typing)
    return (
      <input
        {...control}
        className="code"
        value={value ?? ''}
        placeholder={`${prefixes[0]}_…`}
        onChange={(event) => onValue(event.target.value || undefined)}
      />
    )
  const listed = value === undefined || options?.some(({ id }) => id === value)
  return (
    <>
      <select
        {...control}
        value={value ?? ''}
        onChange={(event) => {
          if (event.target.value === 'other') setTyping(true)
          else onValue(event.target.value || undefined)
        }}
      >
        <option value="">{options === undefined ? 'Loading…' : control.required ? 'Choose…' : 'None'}</option>
        {!listed && <option value={value}>{value}</option>}
        {options?.map(({ id, label }) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
        <option value="other">Other, by ID…</option>
      </select>
      {options?.length === 0 && <NoOptions one={one} create={create} />}
    </>
  )
}

function NoOptions({ one, create }: { one: string; create: string | undefined }) {
  return (
    <p className="field-hint">
      There is no {one} yet.{' '}
      {create && (
        <a href={hrefTo(create)} target="_blank" rel="noreferrer">
          Create one in a new tab
        </a>
      )}
    </p>
  )
}

/** Selects several resources, in order. */
export function MultiPicker({
  prefixes,
  value,
  onValue,
  control,
}: {
  prefixes: readonly string[]
  value: readonly string[]
  onValue: (value: string[]) => void
  control: ControlProps
}) {
  const references = useReferenceOptions(prefixes)
  const removeAt = (index: number) => value.filter((_, each) => each !== index)
  const moveUp = (index: number) => [
    ...value.slice(0, index - 1),
    value[index]!,
    value[index - 1]!,
    ...value.slice(index + 1),
  ]
  return (
    <>
      {value.length > 0 && (
        <ol className="selection">
          {value.map((id, index) => (
            <li key={id}>
              <span>{labelIn(references, id)}</span>
              {index > 0 && (
                <Button kind="quiet" aria-label={`Move ${id} up`} onClick={() => onValue(moveUp(index))}>
                  ↑
                </Button>
              )}
              <Button kind="quiet" aria-label={`Remove ${id}`} onClick={() => onValue(removeAt(index))}>
                ✕
              </Button>
            </li>
          ))}
        </ol>
      )}
      <AddReference
        references={references}
        added={value}
        onAdd={(id) => onValue([...value, id])}
        control={control}
      />
    </>
  )
}

type References = ReturnType<typeof useReferenceOptions>

/** Adds one of the resources that are not in the selection. */
function AddReference({
  references: { options, one, create },
  added,
  onAdd,
  control,
}: {
  references: References
  added: readonly string[]
  onAdd: (id: string) => void
  control: ControlProps
}) {
  return (
    <>
      <select
        {...control}
        value=""
        onChange={(event) => {
          if (event.target.value !== '') onAdd(event.target.value)
        }}
      >
        <option value="">{options === undefined ? 'Loading…' : `Add ${one}…`}</option>
        {options
          ?.filter(({ id }) => !added.includes(id))
          .map(({ id, label }) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
      </select>
      {options?.length === 0 && <NoOptions one={one} create={create} />}
    </>
  )
}

const labelIn = ({ options }: References, id: string) =>
  options?.find((option) => option.id === id)?.label ?? id

/** A weight for each of several resources. */
export function Weights({
  prefixes,
  value,
  onValue,
  control,
}: {
  prefixes: readonly string[]
  value: Readonly<Record<string, number>>
  onValue: (value: Record<string, number>) => void
  control: ControlProps
}) {
  const references = useReferenceOptions(prefixes)
  const total = Object.values(value).reduce((sum, weight) => sum + weight, 0)
  return (
    <>
      {Object.keys(value).length > 0 && (
        <ul className="selection">
          {Object.entries(value).map(([id, weight]) => (
            <li key={id}>
              <span>{labelIn(references, id)}</span>
              <input
                type="number"
                min={0}
                max={10_000}
                className="weight"
                aria-label={`Weight of ${labelIn(references, id)}`}
                value={weight}
                onChange={(event) => onValue({ ...value, [id]: Number(event.target.value) })}
              />
              <span className="share">{total > 0 ? `${Math.round((weight / total) * 100)} %` : '–'}</span>
              <Button
                kind="quiet"
                aria-label={`Remove ${id}`}
                onClick={() =>
                  onValue(Object.fromEntries(Object.entries(value).filter(([each]) => each !== id)))
                }
              >
                ✕
              </Button>
            </li>
          ))}
        </ul>
      )}
      <AddReference
        references={references}
        added={Object.keys(value)}
        onAdd={(id) => onValue({ ...value, [id]: 1 })}
        control={control}
      />
    </>
  )
}

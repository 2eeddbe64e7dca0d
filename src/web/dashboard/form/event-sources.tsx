import { useId } from 'react'
import { resolveSchema, type Schema } from '../openapi.ts'
import { type FormContext, SchemaFields } from './fields.tsx'
import { eventLabel, labelOf } from './labels.ts'
import type { Values } from './model.ts'

const CHANGE_EVENT = /^(.+)_(created|updated|deleted)\.v0$/
const CHANGES = ['created', 'updated', 'deleted'] as const
const LIVE_EVENT = /_(start|stop)\.v0$/

/** Whether a list of objects is a list of event sources, which gets checkboxes. */
export function isEventSourceList(name: string, items: Schema): boolean {
  return name === 'sources' && items.properties?.type?.examples !== undefined
}

/** Checkboxes for the events of a subscription: traffic, sessions and tunnels, and resource changes. */
export function EventSources({
  path,
  items,
  value,
  onValue,
  context,
}: {
  path: string
  items: Schema
  value: readonly Values[]
  onValue: (value: Values[]) => void
  context: FormContext
}) {
  const declared = resolveSchema(items.properties!.type!, context.document).examples ?? []
  const undeclared = value.map(({ type }) => String(type)).filter((type) => !declared.includes(type))
  const types = [...declared, ...undeclared]
  const stems = [...new Set(types.flatMap((type) => CHANGE_EVENT.exec(type)?.[1] ?? []))]
  const live = types.filter((type) => LIVE_EVENT.test(type))
  const traffic = types.filter((type) => !LIVE_EVENT.test(type) && !CHANGE_EVENT.test(type))

  const isEnabled = (type: string) => value.some((source) => source.type === type)
  const setEnabled = (targets: readonly string[], enabled: boolean) => {
    const remaining = value.filter(({ type }) => !targets.includes(String(type)))
    const added = targets.map((type) => value.find((source) => source.type === type) ?? { type })
    onValue(enabled ? [...remaining, ...added] : remaining)
  }
  const renderCheckbox = (label: string, types: readonly string[], hidden = false) => (
    <EventCheckbox
      key={label}
      label={label}
      hidden={hidden}
      enabled={types.filter(isEnabled).length / types.length}
      onToggle={(enabled) => setEnabled(types, enabled)}
    />
  )
  return (
    <>
      <div className="checkboxes">
        <h3>Traffic</h3>
        {traffic.map((type) => {
          const index = value.findIndex((source) => source.type === type)
          return (
            <div key={type} className="checkbox-with-fields">
              {renderCheckbox(eventLabel(type), [type])}
              {index >= 0 && (
                <SchemaFields
                  schema={items}
                  path={`${path}[${index}]`}
                  names={['filter', 'fields']}
                  values={value[index]!}
                  onValues={(changed) =>
                    onValue(value.map((each, position) => (position === index ? changed : each)))
                  }
                  context={context}
                />
              )}
            </div>
          )
        })}
      </div>
      <div className="checkboxes">
        <h3>Agents and tunnels</h3>
        {renderCheckbox('All events of agents and tunnels', live)}
        {live.map((type) => renderCheckbox(eventLabel(type), [type]))}
      </div>
      <table className="checkbox-table">
        <caption>Resource changes</caption>
        <thead>
          <tr>
            <td />
            {CHANGES.map((change) => (
              <th key={change} scope="col">
                {change}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">All resources</th>
            {CHANGES.map((change) => (
              <td key={change}>
                {renderCheckbox(
                  `All resources ${change}`,
                  types.filter((type) => CHANGE_EVENT.exec(type)?.[2] === change),
                  true,
                )}
              </td>
            ))}
          </tr>
          {stems.map((stem) => (
            <tr key={stem}>
              <th scope="row">{labelOf(stem)}</th>
              {CHANGES.map((change) => (
                <td key={change}>
                  {renderCheckbox(`${labelOf(stem)} ${change}`, [`${stem}_${change}.v0`], true)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

function EventCheckbox({
  label,
  hidden,
  enabled,
  onToggle,
}: {
  label: string
  /** Visually hidden where the table headers say the same. */
  hidden: boolean
  /** How much of what it stands for is enabled, from 0 to 1. */
  enabled: number
  onToggle: (enabled: boolean) => void
}) {
  const id = useId()
  return (
    <span className="checkbox">
      <input
        ref={(input) => {
          if (input) input.indeterminate = enabled > 0 && enabled < 1
        }}
        id={id}
        type="checkbox"
        checked={enabled === 1}
        onChange={(event) => onToggle(event.target.checked)}
      />
      <label htmlFor={id} className={hidden ? 'hidden' : undefined}>
        {label}
      </label>
    </span>
  )
}

import { useId } from 'react'
import { resolved, type Schema } from '../openapi.ts'
import { type FormContext, SchemaFields } from './fields.tsx'
import { labelOf } from './labels.ts'
import type { Values } from './model.ts'

const CHANGE = /^(.+)_(created|updated|deleted)\.v0$/
const CHANGES = ['created', 'updated', 'deleted'] as const
const LIVE = /_(start|stop)\.v0$/

/** Whether a list of objects is one of event types, which are better ticked than typed. */
export function areEventSources(name: string, items: Schema): boolean {
  return name === 'sources' && items.properties?.type?.examples !== undefined
}

/** `agent session start` of `agent_session_start.v0`. */
const spoken = (type: string) => labelOf(type.replace(/\.v0$/, ''))

/** The events of a subscription: traffic, what is online, and changes of resources, each to be ticked. */
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
  const known = resolved(items.properties!.type!, context.document).examples ?? []
  const others = value.map(({ type }) => String(type)).filter((type) => !known.includes(type))
  const types = [...known, ...others]
  const stems = [...new Set(types.flatMap((type) => CHANGE.exec(type)?.[1] ?? []))]
  const live = types.filter((type) => LIVE.test(type))
  const traffic = types.filter((type) => !LIVE.test(type) && !CHANGE.test(type))

  const isOn = (type: string) => value.some((source) => source.type === type)
  const set = (wanted: readonly string[], on: boolean) => {
    const kept = value.filter(({ type }) => !wanted.includes(String(type)))
    const added = wanted.map((type) => value.find((source) => source.type === type) ?? { type })
    onValue(on ? [...kept, ...added] : kept)
  }
  const tick = (type: string, label: string, hidden = false) => (
    <Tick key={type} label={label} hidden={hidden} on={isOn(type)} onTick={(on) => set([type], on)} />
  )
  return (
    <>
      <div className="ticks">
        <h3>Traffic</h3>
        {traffic.map((type) => {
          const index = value.findIndex((source) => source.type === type)
          return (
            <div key={type} className="tick-with-more">
              {tick(type, spoken(type))}
              {index >= 0 && (
                <SchemaFields
                  schema={items}
                  path={`${path}[${index}]`}
                  names={['filter', 'fields']}
                  values={value[index]!}
                  onValues={(changed) => onValue(value.map((each, at) => (at === index ? changed : each)))}
                  context={context}
                />
              )}
            </div>
          )
        })}
      </div>
      <div className="ticks">
        <h3>Agents and tunnels</h3>
        {live.map((type) => tick(type, spoken(type)))}
      </div>
      <table className="tick-table">
        <caption>Changes of resources</caption>
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
          {stems.map((stem) => (
            <tr key={stem}>
              <th scope="row">{labelOf(stem)}</th>
              {CHANGES.map((change) => (
                <td key={change}>{tick(`${stem}_${change}.v0`, `${labelOf(stem)} ${change}`, true)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

function Tick({
  label,
  hidden,
  on,
  onTick,
}: {
  label: string
  /** What stands around it says the same to those who see it. */
  hidden: boolean
  on: boolean
  onTick: (on: boolean) => void
}) {
  const id = useId()
  return (
    <span className="tick">
      <input id={id} type="checkbox" checked={on} onChange={(event) => onTick(event.target.checked)} />
      <label htmlFor={id} className={hidden ? 'hidden' : undefined}>
        {label}
      </label>
    </span>
  )
}

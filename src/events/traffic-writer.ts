import type { SealedEvent } from './envelope.ts'
import type { EventIds } from './event-id.ts'
import type { Getter, GetterOf } from './filter.ts'

/** Writes an event of something that came to pass on the edge. */
export type TrafficWriter<E> = (ids: EventIds, event: E, at: number) => SealedEvent

interface Branch {
  [step: string]: Branch | string
}

/**
 * Compiles how events with these fields are written: `conn.client_ip` becomes `{"conn":{"client_ip":…}}`. All that is
 * the same in every event is text made here once, since each request that anybody wants to hear of passes by.
 */
export function compileWriter<E>(
  type: string,
  accountId: string,
  fields: readonly string[],
  getterOf: GetterOf<E>,
): TrafficWriter<E> {
  const getters: Getter<E>[] = []
  const texts: string[] = []
  let text = `","event_type":${JSON.stringify(type)},"account_id":${JSON.stringify(accountId)},"sequence":1,"principal":null,"object":`
  write(branchOf(fields))
  const last = `${text}}`

  function write(branch: Branch): void {
    text += '{'
    for (const [index, [step, below]] of Object.entries(branch).entries()) {
      text += `${index === 0 ? '' : ','}${JSON.stringify(step)}:`
      if (typeof below !== 'string') write(below)
      else {
        texts.push(text)
        getters.push(getterOf(below) ?? (() => null))
        text = ''
      }
    }
    text += '}'
  }

  let writtenAt = Number.NaN
  let time = ''
  return (ids, event, at) => {
    if (at !== writtenAt) {
      time = new Date(at).toISOString()
      writtenAt = at
    }
    const id = ids.next(at)
    let body = `{"event_id":"${id}","event_timestamp":"${time}`
    for (let index = 0; index < getters.length; index++)
      body += texts[index]! + (JSON.stringify(getters[index]!(event)) ?? 'null')
    return { id, type, at, body: body + last }
  }
}

/** The fields as a tree, in the order in which they were named. */
function branchOf(fields: readonly string[]): Branch {
  const root: Branch = {}
  for (const field of fields) {
    const steps = field.split('.')
    let branch = root
    for (const step of steps.slice(0, -1)) {
      branch[step] ??= {}
      branch = branch[step] as Branch
    }
    branch[steps.at(-1)!] = field
  }
  return root
}

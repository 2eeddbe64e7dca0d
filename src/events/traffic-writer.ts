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

  // Pieces that are put together at once: a string added to bit by bit stays in bits, which cost more to keep.
  const pieces = [
    '{"event_id":"',
    '',
    '","event_timestamp":"',
    '',
    ...texts.flatMap((each) => [each, '']),
    last,
  ]
  let writtenAt = Number.NaN
  return (ids, event, at) => {
    if (at !== writtenAt) {
      pieces[3] = new Date(at).toISOString()
      writtenAt = at
    }
    const id = ids.next(at)
    pieces[1] = id
    for (let index = 0; index < getters.length; index++)
      pieces[2 * index + 5] = JSON.stringify(getters[index]!(event)) ?? 'null'
    return { id, type, at, body: pieces.join('') }
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

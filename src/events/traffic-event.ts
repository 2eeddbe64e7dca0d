import type { RunningIds } from '../base/sequential-ids.ts'
import type { Parcel } from './targets/target.ts'
import type { TrafficKind } from './traffic.ts'

type Show = (taken: unknown) => unknown

interface Branch {
  [step: string]: Branch | string
}

/**
 * How events with these fields are told: `conn.client_ip` becomes `{"conn":{"client_ip":…}}`. All that is the same in
 * every event is text made here once. An event that passes by costs its values alone; it is written down when its batch
 * leaves, many at a time, which takes a third of the time, and not at all when it is dropped.
 */
export class TrafficTaker<E> {
  readonly #type: string
  readonly #kind: TrafficKind<E>
  readonly #takes: readonly ((event: E) => unknown)[]
  readonly #forms: Forms
  readonly #textLength: number

  constructor(type: string, accountId: string, fields: readonly string[], kind: TrafficKind<E>) {
    const { texts, names } = layOut(type, accountId, fields)
    const shows = names.map((name) => kind.field(name)?.show)
    this.#type = type
    this.#kind = kind
    this.#takes = names.map((name) => kind.field(name)?.take ?? nothing)
    this.#forms = { plain: new Form(texts, shows, asIs), quoted: new Form(texts, shows, insideString) }
    this.#textLength = texts.reduce((sum, text) => sum + text.length, 0)
  }

  /** Takes from something that came to pass on the edge what is to be told of it. */
  take(ids: RunningIds, event: E, at: number): TrafficEvent {
    const takes = this.#takes
    const values: unknown[] = new Array(takes.length)
    let size = this.#textLength + this.#kind.weight(event)
    for (let index = 0; index < takes.length; index++) {
      const value = takes[index]!(event)
      if (typeof value === 'string') size += value.length
      values[index] = value
    }
    return new TrafficEvent(this.#type, at, values, size, this.#forms, ids)
  }
}

const nothing = () => null

interface Forms {
  readonly plain: Form
  readonly quoted: Form
}

/** A traffic event: its values, which are written down anew, and always alike, whenever somebody asks. */
export class TrafficEvent implements Parcel {
  readonly type: string
  readonly at: number
  readonly size: number
  readonly #values: readonly unknown[]
  readonly #forms: Forms
  readonly #ids: RunningIds
  #id: string | undefined = undefined

  constructor(
    type: string,
    at: number,
    values: readonly unknown[],
    size: number,
    forms: Forms,
    ids: RunningIds,
  ) {
    this.type = type
    this.at = at
    this.#values = values
    this.size = size
    this.#forms = forms
    this.#ids = ids
  }

  get id(): string {
    this.#id ??= this.#ids.next(this.at)
    return this.#id
  }

  get body(): string {
    return this.#forms.plain.write(this.id, this.at, this.#values)
  }

  get quoted(): string {
    return `"${this.#forms.quoted.write(this.id, this.at, this.#values)}"`
  }
}

/** How a piece of JSON is spelled where it is to stand. */
type Spelling = (json: string) => string

const asIs: Spelling = (json) => json
const insideString: Spelling = (json) => JSON.stringify(json).slice(1, -1)

// Strings with nothing to escape are most of them, and need no more than their quotation marks.
const UNUSUAL = /["\\\x00-\x1f\x7f-\uffff]/

/** Writes events in one spelling. */
class Form {
  readonly #texts: readonly string[]
  readonly #shows: readonly (Show | undefined)[]
  readonly #spelling: Spelling
  readonly #quote: string
  readonly #opening: string
  readonly #middle: string
  #time = ''
  #timeAt = Number.NaN

  constructor(texts: readonly string[], shows: readonly (Show | undefined)[], spelling: Spelling) {
    this.#texts = texts.map(spelling)
    this.#shows = shows
    this.#spelling = spelling
    this.#quote = spelling('"')
    this.#opening = spelling('{"event_id":"')
    this.#middle = spelling('","event_timestamp":"')
  }

  write(id: string, at: number, values: readonly unknown[]): string {
    if (at !== this.#timeAt) {
      this.#time = new Date(at).toISOString()
      this.#timeAt = at
    }
    let written = this.#opening + id + this.#middle + this.#time
    for (let index = 0; index < values.length; index++)
      written += this.#texts[index]! + this.#value(values[index], this.#shows[index])
    return written + this.#texts[values.length]!
  }

  #value(taken: unknown, show: Show | undefined): string {
    const value = show === undefined ? taken : show(taken)
    if (typeof value === 'number') return String(value)
    if (typeof value === 'string' && !UNUSUAL.test(value)) return this.#quote + value + this.#quote
    return this.#spelling(JSON.stringify(value) ?? 'null')
  }
}

/** The fields in the order in which they are written, and the text before each of them and after the last. */
function layOut(
  type: string,
  accountId: string,
  fields: readonly string[],
): { texts: readonly string[]; names: readonly string[] } {
  const texts: string[] = []
  const names: string[] = []
  let text = `","event_type":${JSON.stringify(type)},"account_id":${JSON.stringify(accountId)},"sequence":1,"principal":null,"object":`
  write(branchOf(fields))
  return { texts: [...texts, `${text}}`], names }

  function write(branch: Branch): void {
    text += '{'
    for (const [index, [step, below]] of Object.entries(branch).entries()) {
      text += `${index === 0 ? '' : ','}${JSON.stringify(step)}:`
      if (typeof below !== 'string') write(below)
      else {
        names.push(below)
        texts.push(text)
        text = ''
      }
    }
    text += '}'
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

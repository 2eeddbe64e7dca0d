import { trimOws } from '../../base/http/optional-white-space.ts'
import { isFieldValue, isToken } from './ascii.ts'

/** One field line. */
export interface HeaderField {
  /** In lower case. */
  readonly name: string
  readonly line: string
  readonly value: string
}

/** Creates a field line; an invalid name or value throws and is never repaired. */
export function createField(name: string, value: string): HeaderField {
  if (!isToken(name) || !isFieldValue(value)) throw new TypeError(`The field ${name} cannot be sent.`)
  return { name: name.toLowerCase(), line: `${name}: ${value}\r\n`, value }
}

/**
 * The field lines of a message, for modules that read or change them. They are parsed when they are first read and joined
 * again only after a change, so that neither costs a message that nothing reads or changes.
 */
export class HeaderFields {
  /** Undefined after a change. */
  #text: string | undefined
  #list: HeaderField[] | undefined

  constructor(text: string) {
    this.#text = text
  }

  /** All lines, each terminated by CRLF. */
  get text(): string {
    if (this.#text === undefined) {
      let text = ''
      for (const { line } of this.#parse()) text += line
      this.#text = text
    }
    return this.#text
  }

  /** The number of fields. */
  get size(): number {
    return this.#parse().length
  }

  /** The length of all lines together. */
  get length(): number {
    if (this.#list === undefined) return this.#text!.length
    return this.#list.reduce((length, { line }) => length + line.length, 0)
  }

  /** The value of the first field of this lower-case name. */
  get(name: string): string | undefined {
    for (const field of this.#parse()) if (field.name === name) return field.value
    return undefined
  }

  /** All values of this lower-case name, in order. */
  getAll(name: string): string[] {
    const values: string[] = []
    for (const field of this.#parse()) if (field.name === name) values.push(field.value)
    return values
  }

  /** Names (lower case) and values in order. */
  *[Symbol.iterator](): Generator<[string, string]> {
    for (const { name, value } of this.#parse()) yield [name, value]
  }

  remove(name: string): void {
    const list = this.#parse()
    const rest = list.filter((field) => field.name !== name)
    if (rest.length === list.length) return
    this.#list = rest
    this.#text = undefined
  }

  /** Adds a field after the others. */
  add(name: string, value: string): void {
    this.append(createField(name, value))
  }

  /** Adds a field that was created before. */
  append(field: HeaderField): void {
    this.#parse().push(field)
    this.#text = undefined
  }

  set(name: string, value: string): void {
    this.remove(name.toLowerCase())
    this.add(name, value)
  }

  #parse(): HeaderField[] {
    this.#list ??= parseFields(this.#text!)
    return this.#list
  }
}

function parseFields(text: string): HeaderField[] {
  const list: HeaderField[] = []
  for (let position = 0; position < text.length; ) {
    const next = text.indexOf('\r\n', position) + 2
    const colon = text.indexOf(':', position)
    list.push({
      name: text.slice(position, colon).toLowerCase(),
      line: text.slice(position, next),
      value: trimOws(text.slice(colon + 1, next - 2)),
    })
    position = next
  }
  return list
}

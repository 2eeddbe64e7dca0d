import { trimOws } from '../../base/optional-white-space.ts'
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
 * The field lines of a message, for modules that read or change them. They stay one string until the first access, so
 * that a message without such modules is not parsed a second time.
 */
export class HeaderFields {
  #text: string
  #list: HeaderField[] | undefined

  constructor(text: string) {
    this.#text = text
  }

  /** All lines, each terminated by CRLF. */
  get text(): string {
    if (this.#list === undefined) return this.#text
    let text = ''
    for (const { line } of this.#list) text += line
    return text
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
    for (let index = list.length - 1; index >= 0; index--)
      if (list[index]!.name === name) list.splice(index, 1)
  }

  /** Adds a field after the others. */
  add(name: string, value: string): void {
    this.append(createField(name, value))
  }

  /** Adds a field that was created before. */
  append(field: HeaderField): void {
    this.#parse().push(field)
  }

  set(name: string, value: string): void {
    this.remove(name.toLowerCase())
    this.add(name, value)
  }

  #parse(): HeaderField[] {
    if (this.#list !== undefined) return this.#list
    this.#list = []
    for (let position = 0; position < this.#text.length; ) {
      const next = this.#text.indexOf('\r\n', position) + 2
      const colon = this.#text.indexOf(':', position)
      this.#list.push({
        name: this.#text.slice(position, colon).toLowerCase(),
        line: this.#text.slice(position, next),
        value: trimOws(this.#text.slice(colon + 1, next - 2)),
      })
      position = next
    }
    return this.#list
  }
}

import { readFileSync } from 'node:fs'
import type { Route } from '../api/index.ts'
import { Failure } from './failure.ts'

/** A JSON Schema as far as the command line needs to know it. */
interface Schema {
  type?: string | string[]
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: boolean | Schema
}

type Kind = 'text' | 'number' | 'switch' | 'list' | 'map' | 'json'

/** One flag: where its value goes in the body, or which query parameter it is. */
export interface Flag {
  /** Without the hyphens, such as `certificate-management-policy.authority`. */
  readonly name: string
  readonly kind: Kind
  readonly path: readonly string[]
  readonly query: boolean
  readonly required: boolean
  readonly words: readonly string[]
}

const PAGING = ['limit', 'before_id'].map(
  (name): Flag => ({
    name: name.replaceAll('_', '-'),
    kind: 'text',
    path: [name],
    query: true,
    required: false,
    words: [],
  }),
)

/** The flags of a route: one for each field of its body, nested fields with dots, and those of paging. */
export function flagsOf(route: Route): Flag[] {
  const fields = route.body === undefined ? [] : fieldsOf(route.body as Schema, [], true)
  return route.paged ? [...PAGING, ...fields] : fields
}

function fieldsOf(schema: Schema, above: readonly string[], needed: boolean): Flag[] {
  const shape = [schema, ...(schema.anyOf ?? [])].find(({ properties }) => properties !== undefined)
  return Object.entries(shape?.properties ?? {}).flatMap(([name, inner]) => {
    const path = [...above, name]
    const required = needed && (shape?.required?.includes(name) ?? false)
    const words = [inner, ...(inner.anyOf ?? [])].flatMap((each) => each.enum ?? [])
    const flag: Flag = {
      name: path.map((step) => step.replaceAll('_', '-')).join('.'),
      kind: kindOf(inner),
      path,
      query: false,
      required,
      words: words.filter((word) => word !== null).map(String),
    }
    // An object can be given whole, as JSON, or field by field.
    return flag.kind === 'json' ? [flag, ...fieldsOf(inner, path, required)] : [flag]
  })
}

function kindOf(schema: Schema): Kind {
  const shapes = [schema, ...(schema.anyOf ?? [])]
  const types = shapes.flatMap(({ type }) => type ?? [])
  if (shapes.some((shape) => shape.enum?.some((word) => typeof word === 'number'))) return 'number'
  if (types.includes('boolean')) return 'switch'
  if (types.includes('integer') || types.includes('number')) return 'number'
  if (types.includes('array'))
    return shapes.some(({ items }) => items?.properties !== undefined) ? 'json' : 'list'
  if (types.includes('object'))
    return shapes.some(({ properties }) => Object.keys(properties ?? {}).length > 0) ? 'json' : 'map'
  return 'text'
}

/** What is written for a flag, in help. */
export function placeholder({ kind, words }: Flag): string {
  if (words.length > 0) return words.join('|')
  return {
    text: 'TEXT',
    number: 'NUMBER',
    switch: 'true|false',
    list: 'TEXT,…',
    map: 'KEY=VALUE',
    json: 'JSON',
  }[kind]
}

/** The value that the words given for a flag mean. A text that begins with @ is read from a file, `@-` from input. */
export function readValue(flag: Flag, given: readonly string[]): unknown {
  const last = given.at(-1)!
  switch (flag.kind) {
    case 'text':
      return textOf(last)
    case 'number': {
      if (last.trim() === '' || Number.isNaN(Number(last)))
        throw new Failure(`--${flag.name} is "${last}"; write a number.`)
      return Number(last)
    }
    case 'switch':
      if (last !== 'true' && last !== 'false')
        throw new Failure(`--${flag.name} is "${last}"; write true or false.`)
      return last === 'true'
    case 'list':
      return given.flatMap((item) =>
        item.trimStart().startsWith('[') ? parsed(flag, item) : item.split(','),
      )
    case 'map':
      return Object.assign({}, ...given.map((item) => entry(flag, item)))
    case 'json':
      return parsed(flag, last)
  }
}

function textOf(given: string): string {
  if (!given.startsWith('@')) return given
  if (given.startsWith('@@')) return given.slice(1)
  const file = given.slice(1)
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch {
    throw new Failure(`The file ${file} cannot be read. Write @@ for a text that begins with @.`)
  }
}

function parsed(flag: Flag, given: string): unknown {
  try {
    return JSON.parse(textOf(given))
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure(`--${flag.name} is not valid JSON.`)
  }
}

function entry(flag: Flag, given: string): object {
  if (given.trimStart().startsWith('{') || given.startsWith('@')) return parsed(flag, given) as object
  const equals = given.indexOf('=')
  if (equals < 1) throw new Failure(`--${flag.name} is "${given}"; write KEY=VALUE, once for each, or JSON.`)
  const text = given.slice(equals + 1)
  // Weights are the one map of numbers; a value that must be text is told so by the server.
  const value = flag.path.at(-1) === 'backends' && /^\d+$/.test(text) ? Number(text) : text
  return { [given.slice(0, equals)]: value }
}

import { readFileSync } from 'node:fs'
import type { ApiRoute } from '../api/index.ts'
import { CommandFailure } from '../base/process/command-line.ts'

/** The parts of a JSON Schema that the command line uses. */
interface Schema {
  type?: string | string[]
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: boolean | Schema
}

type FlagKind = 'text' | 'number' | 'switch' | 'list' | 'map' | 'json'

/** One flag: a field of the body or a query parameter. */
export interface ApiFlag {
  /** Without the hyphens, such as `certificate-management-policy.authority`. */
  readonly name: string
  readonly kind: FlagKind
  readonly path: readonly string[]
  readonly query: boolean
  readonly required: boolean
  readonly choices: readonly string[]
}

const queryFlag = (name: string): ApiFlag => ({
  name: name.replaceAll('_', '-'),
  kind: 'text',
  path: [name],
  query: true,
  required: false,
  choices: [],
})

const PAGING_FLAGS = ['limit', 'before_id', 'filter'].map(queryFlag)

/** The flags of a route: one per field of its body, nested fields with dots, and the paging flags. */
export function flagsOf(route: ApiRoute): ApiFlag[] {
  const fields = route.body === undefined ? [] : fieldsOf(route.body as Schema, [], true)
  return route.paged ? [...PAGING_FLAGS, ...(route.selectBy ?? []).map(queryFlag), ...fields] : fields
}

function fieldsOf(schema: Schema, parents: readonly string[], parentRequired: boolean): ApiFlag[] {
  const shape = [schema, ...(schema.anyOf ?? [])].find(({ properties }) => properties !== undefined)
  return Object.entries(shape?.properties ?? {}).flatMap(([name, field]) => {
    const path = [...parents, name]
    const required = parentRequired && (shape?.required?.includes(name) ?? false)
    const words = [field, ...(field.anyOf ?? [])].flatMap((variant) => variant.enum ?? [])
    const flag: ApiFlag = {
      name: path.map((step) => step.replaceAll('_', '-')).join('.'),
      kind: kindOf(field),
      path,
      query: false,
      required,
      choices: words.filter((choice) => choice !== null).map(String),
    }
    // An object can be given as JSON or field by field.
    return flag.kind === 'json' ? [flag, ...fieldsOf(field, path, required)] : [flag]
  })
}

function kindOf(schema: Schema): FlagKind {
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

/** The placeholder of a flag's value in the help. */
export function formatPlaceholder({ kind, choices }: ApiFlag): string {
  if (choices.length > 0) return choices.join('|')
  return {
    text: 'TEXT',
    number: 'NUMBER',
    switch: 'true|false',
    list: 'TEXT,…',
    map: 'KEY=VALUE',
    json: 'JSON',
  }[kind]
}

/** Parses the values of a flag. A text that begins with @ is read from a file, `@-` from standard input. */
export function parseValue(flag: ApiFlag, texts: readonly string[]): unknown {
  const last = texts.at(-1)!
  switch (flag.kind) {
    case 'text':
      return readText(last)
    case 'number': {
      if (last.trim() === '' || Number.isNaN(Number(last)))
        throw new CommandFailure(`--${flag.name} must be a number, not "${last}".`)
      return Number(last)
    }
    case 'switch':
      if (last !== 'true' && last !== 'false')
        throw new CommandFailure(`--${flag.name} must be true or false, not "${last}".`)
      return last === 'true'
    case 'list':
      return texts.flatMap((item) =>
        item.trimStart().startsWith('[') ? parseJson(flag, item) : item.split(','),
      )
    case 'map':
      return Object.assign({}, ...texts.map((item) => parseEntry(flag, item)))
    case 'json':
      return parseJson(flag, last)
  }
}

function readText(text: string): string {
  if (!text.startsWith('@')) return text
  if (text.startsWith('@@')) return text.slice(1)
  const file = text.slice(1)
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch {
    throw new CommandFailure(`The file ${file} cannot be read. For a value that begins with @, write @@.`)
  }
}

function parseJson(flag: ApiFlag, text: string): unknown {
  try {
    return JSON.parse(readText(text))
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw new CommandFailure(`--${flag.name} is not valid JSON.`)
  }
}

function parseEntry(flag: ApiFlag, entry: string): object {
  if (entry.trimStart().startsWith('{') || entry.startsWith('@')) return parseJson(flag, entry) as object
  const equals = entry.indexOf('=')
  if (equals < 1)
    throw new CommandFailure(`--${flag.name} must be KEY=VALUE, once for each, or JSON, not "${entry}".`)
  const text = entry.slice(equals + 1)
  // Weights are the only map of numbers; the server validates all other values.
  const value = flag.path.at(-1) === 'backends' && /^\d+$/.test(text) ? Number(text) : text
  return { [entry.slice(0, equals)]: value }
}

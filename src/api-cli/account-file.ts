import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { CommandFailure } from '../base/process/command-line.ts'
import { errorMessage } from '../base/text/error-message.ts'
import { describeFileError } from '../base/text/file-error.ts'
import { expandAliases, LINEAR_PARSING, YamlMistake } from '../base/text/yaml-document.ts'

/** The API accepts no larger one. */
const MAX_DOCUMENT_BYTES = 1024 * 1024
const MAX_DEPTH = 100

type Json = Readonly<Record<string, unknown>>

/** A file with the document of an account: its value, and where its parts are. */
export class AccountFile {
  readonly #document: Document
  readonly #lines = new LineCounter()
  readonly #file: string

  /** Reads YAML or JSON; `-` is standard input. Throws `CommandFailure` with the line of a mistake. */
  constructor(file: string) {
    this.#file = file === '-' ? 'standard input' : file
    const text = readText(file === '-' ? 0 : file, this.#file)
    if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES)
      throw new CommandFailure(
        `${this.#file} is larger than ${MAX_DOCUMENT_BYTES / 1024} KiB. Remove some resources from it.`,
      )
    try {
      this.#document = parseDocument(text, { lineCounter: this.#lines, ...LINEAR_PARSING })
    } catch (error) {
      throw new CommandFailure(`${this.#file} cannot be read: ${errorMessage(error)}`)
    }
    const [fault] = this.#document.errors
    if (fault !== undefined) throw new CommandFailure(`${this.#positionAt(fault.pos[0])}: ${fault.message}.`)
    try {
      expandAliases(this.#document, MAX_DOCUMENT_BYTES)
    } catch (error) {
      const position = error instanceof YamlMistake ? this.#positionAt(error.offset) : this.#file
      throw new CommandFailure(`${position}: ${errorMessage(error)}.`)
    }
  }

  /** The document with the contents of the environment variables and files that it names, where `schema` has a text. */
  value(schema: unknown, environment: NodeJS.ProcessEnv): Json {
    let value: unknown
    try {
      value = this.#document.toJS() ?? {}
    } catch (error) {
      throw new CommandFailure(`${this.#file} cannot be read: ${errorMessage(error)}`)
    }
    if (typeof value !== 'object' || Array.isArray(value))
      throw new CommandFailure(`${this.#file} must hold a map of resources, such as "ip_policies:".`)
    return this.#resolve(schema, value, environment, '') as Json
  }

  /** `file:line` of the part at this dotted path, or of the innermost part around it. */
  locate(path: string): string {
    let node: unknown = this.#document.contents
    let rest = path
    let offset = 0
    for (let depth = 0; depth < MAX_DEPTH && rest !== ''; depth++) {
      const step = stepInto(node, rest)
      if (step === undefined) break
      offset = step.offset
      node = step.node
      rest = step.rest
    }
    return this.#positionAt(offset)
  }

  #positionAt(offset: number): string {
    return `${this.#file}:${this.#lines.linePos(offset).line}`
  }

  #resolve(schema: unknown, value: unknown, environment: NodeJS.ProcessEnv, path: string): unknown {
    if (typeof value !== 'object' || value === null) return value
    const shape = schemaOf(schema)
    if (Array.isArray(value))
      return value.map((item, index) => this.#resolve(shape.items, item, environment, `${path}[${index}]`))
    if (isText(shape)) return this.#read(value as Json, environment, path)
    const properties = (shape.properties ?? {}) as Json
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        key,
        this.#resolve(
          properties[key] ?? shape.additionalProperties,
          member,
          environment,
          path === '' ? key : `${path}.${key}`,
        ),
      ]),
    )
  }

  /** The text that `{ env: NAME }` or `{ file: PATH }` stands for. */
  #read(source: Json, environment: NodeJS.ProcessEnv, path: string): unknown {
    const [key, ...others] = Object.keys(source)
    const name = source[key ?? '']
    if (others.length > 0 || typeof name !== 'string' || (key !== 'env' && key !== 'file'))
      throw new CommandFailure(
        `${this.locate(path)}: ${path} must be a string, { env: NAME } or { file: PATH }.`,
      )
    if (key === 'file') return readText(resolve(dirname(this.#file), name), `${this.locate(path)}: ${name}`)
    const text = environment[name]
    if (text === undefined)
      throw new CommandFailure(`${this.locate(path)}: the environment variable ${name} is not set.`)
    return text
  }
}

/** The member of a node that the path continues with. A name may hold dots, so the longest match counts. */
function stepInto(node: unknown, rest: string): { node: unknown; rest: string; offset: number } | undefined {
  if (isSeq(node)) {
    const [step, index] = /^\[(\d{1,6})\]/.exec(rest) ?? []
    const item = step === undefined ? undefined : (node.items[Number(index)] as Node | undefined)
    return item && { node: item, rest: withoutDot(rest.slice(step!.length)), offset: item.range?.[0] ?? 0 }
  }
  if (!isMap(node)) return undefined
  const candidates = node.items.flatMap(({ key, value }) => {
    if (!isScalar(key)) return []
    const step = [String(key.value), `[${String(key.value)}]`].find((each) => startsWithStep(rest, each))
    return step === undefined ? [] : [{ step, value, offset: key.range?.[0] ?? 0 }]
  })
  const longest = candidates.sort((one, other) => other.step.length - one.step.length)[0]
  return (
    longest && {
      node: longest.value,
      rest: withoutDot(rest.slice(longest.step.length)),
      offset: longest.offset,
    }
  )
}

function startsWithStep(rest: string, step: string): boolean {
  return rest.startsWith(step) && ['', '.', '['].includes(rest.charAt(step.length))
}

const withoutDot = (text: string) => (text.startsWith('.') ? text.slice(1) : text)

/** The schema of documents for editors: a text may also come from the environment or a file. */
export function editorSchema(schema: unknown): Json {
  const source = {
    description: 'A string from the environment or from a file next to the document.',
    anyOf: ['env', 'file'].map((key) => ({
      type: 'object',
      properties: { [key]: { type: 'string' } },
      required: [key],
      additionalProperties: false,
    })),
  }
  const convert = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(convert)
    if (typeof value !== 'object' || value === null) return value
    if (isText(value as Json)) return { anyOf: [value, { $ref: '#/$defs/source' }] }
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, key === 'propertyNames' ? member : convert(member)]),
    )
  }
  const { properties = {}, ...rest } = schema as { properties?: Record<string, unknown> }
  const { dry_run: _, prune: __, ...kinds } = properties
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...(convert({ ...rest, properties: kinds }) as Json),
    title: 'Account document',
    $defs: { source },
  }
}

function isText({ type, enum: values }: Json): boolean {
  return values === undefined && (type === 'string' || (Array.isArray(type) && type.includes('string')))
}

function schemaOf(schema: unknown): Json {
  const { anyOf } = (schema ?? {}) as { anyOf?: Json[] }
  return anyOf?.[0] ?? ((schema ?? {}) as Json)
}

function readText(file: string | 0, displayName: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandFailure(`${displayName} cannot be read: ${describeFileError(error)}.`)
  }
}

import { type TSchema, Type } from 'typebox'
import { isConnectionField } from '../base/http/connection-fields.ts'
import { compileLinearRegex, type LinearRegex } from '../base/pattern/linear-pattern.ts'
import { errorMessage } from '../base/text/error-message.ts'
import { parseCidr } from '../base/values/cidr.ts'
import { findNearest } from '../base/values/nearest.ts'
import type { Declarations, Environment, Inspect } from '../cel/index.ts'
import { compile, compileCondition, type Program, parseDuration } from '../cel/index.ts'
import type { PolicyErrorName, PolicyFault } from './error-codes.ts'
import type { DocumentPath } from './issue.ts'
import type { PhaseName, PolicyProtocol } from './phases.ts'
import {
  compileTemplate,
  literalTemplate,
  type Template,
  TemplateError,
  type WhenAbsent,
} from './template.ts'

/** Where a field of a configuration is, and what its expressions may use. */
export interface FieldContext {
  readonly environment: Environment
  /** Those that were compiled before: texts are often repeated. */
  readonly templates: Map<string, Template>
  readonly phase: PhaseName
  readonly protocol: PolicyProtocol
  readonly path: DocumentPath
  /** Called with each expression that is compiled. */
  readonly inspect: Inspect | undefined
  report(error: PolicyErrorName, message: string): void
  /** The context of a field or entry inside this one. */
  child(step: string | number): FieldContext
}

/**
 * A field of an action's configuration: its schema for documents and editors, and how it is read. `read` reports what is
 * wrong and returns anything then: a configuration with mistakes is never used.
 */
export interface ConfigField<T = unknown> {
  readonly schema: TSchema
  /** What stands for an absent field; undefined when the field is required. */
  readonly absent?: { readonly value: T }
  /** Other names of the field, in the order in which they are looked for. */
  readonly aliases?: readonly string[]
  read(value: unknown, context: FieldContext): T
}

type Read<F> = F extends ConfigField<infer T> ? T : never

/** May be left out. */
export const optional = <T>(field: ConfigField<T>): ConfigField<T | undefined> => ({
  ...field,
  absent: { value: undefined },
})

/** May be left out, with this value then. */
export const withDefault = <T>(
  field: ConfigField<T>,
  value: T,
  schemaDefault: unknown = value,
): ConfigField<T> => ({
  ...field,
  schema: Type.Unsafe({ ...field.schema, default: schemaDefault }),
  absent: { value },
})

/** May be written under other names too. */
export const named = <T>(field: ConfigField<T>, ...aliases: string[]): ConfigField<T> => ({
  ...field,
  aliases,
})

/** Tells what a field is for. */
export const described = <T>(field: ConfigField<T>, description: string): ConfigField<T> => ({
  ...field,
  schema: Type.Unsafe({ ...field.schema, description }),
})

interface TextLimits {
  readonly minLength?: number
  readonly maxLength?: number
  /** Returns what is wrong with a text, and the name of the mistake if it is not `wrong_type`. */
  readonly check?: (text: string) => string | PolicyFault | undefined
}

function readText(
  value: unknown,
  context: FieldContext,
  { minLength = 0, maxLength, check }: TextLimits,
): string {
  if (typeof value !== 'string') {
    context.report('wrong_type', `it must be a text, not ${nounOf(value)}`)
    return ''
  }
  if (value.length < minLength) context.report('empty_value', 'it must not be empty')
  else if (maxLength !== undefined && value.length > maxLength)
    context.report('text_too_long', `it has at most ${maxLength} characters`)
  else {
    const fault = check?.(value)
    if (fault !== undefined)
      context.report(...(typeof fault === 'string' ? (['wrong_type', fault] as const) : fault))
  }
  return value
}

/** A text that is taken as it is. */
export function text(limits: TextLimits = {}): ConfigField<string> {
  const { check: _, ...schema } = limits
  return { schema: Type.String(schema), read: (value, context) => readText(value, context, limits) }
}

const templateSchema = {
  description: 'a text that may contain CEL in braces after a dollar sign',
  'x-cel': 'template',
}

/** As long as the head of a request, parts of which policies copy into headers and URLs. */
const MAX_RESULT_LENGTH = 16 * 1024

interface TemplateLimits extends TextLimits {
  /** What a text with `${}` may become. */
  readonly maxResultLength?: number
}

/** A text with `${}`, in which absent facts and results are empty; its checks apply at once when it has none. */
export const template = (limits: TemplateLimits = {}) => templateField(limits, 'empty')

/** The same for what decides who is admitted or where traffic goes: an absent fact or result fails. */
export const strictTemplate = (limits: TemplateLimits = {}) => templateField(limits, 'fail')

function templateField(limits: TemplateLimits, whenAbsent: WhenAbsent): ConfigField<Template> {
  const { check: _, maxResultLength = MAX_RESULT_LENGTH, ...schema } = limits
  return {
    schema: Type.String({ ...templateSchema, ...schema }),
    read(value, context) {
      const source = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
      const plain = typeof source === 'string' && !source.includes('${')
      const text = readText(source, context, plain ? limits : {})
      if (plain) return literalTemplate(text)
      const key = `${context.phase} ${maxResultLength} ${whenAbsent} ${text}`
      const known = context.templates.get(key)
      if (known !== undefined) return known
      try {
        const compiled = compileTemplate(
          text,
          context.environment,
          maxResultLength,
          whenAbsent,
          context.inspect,
        )
        context.templates.set(key, compiled)
        return compiled
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error
        context.report('invalid_interpolation', error.message)
        return literalTemplate('')
      }
    },
  }
}

/** A CEL expression without `${}`. */
export const expression: ConfigField<Program> = {
  schema: Type.String({ description: 'a CEL expression', 'x-cel': 'expression' }),
  read(value, context) {
    const compilation = compile(
      readText(value, context, { minLength: 1 }),
      context.environment,
      context.inspect,
    )
    if (compilation.ok) return compilation.program
    const [{ message, line, column }] = compilation.errors as [(typeof compilation.errors)[number]]
    context.report('invalid_expression', `${message} (line ${line}, column ${column})`)
    return NOTHING
  },
}

/** A CEL expression that is true or false and may use variables of its own. */
export function condition(variables: Declarations['variables']): ConfigField<Program> {
  return {
    schema: Type.String({ description: 'a CEL expression that is true or false', 'x-cel': 'expression' }),
    read(value, context) {
      const source = readText(value, context, { minLength: 1 })
      const compiled = compileCondition(source, context.environment.with(variables), context.inspect)
      if ('program' in compiled) return compiled.program
      context.report('invalid_expression', compiled.error)
      return NOTHING
    },
  }
}

const NOTHING: Program = { type: { kind: 'dyn' }, evaluate: () => null }

/** A regular expression in RE2 syntax that may contain `${}`, which is evaluated before the pattern is compiled. */
export interface PatternTemplate {
  readonly template: Template
  /** The compiled pattern when it has no `${}`. */
  readonly regex: LinearRegex | undefined
}

export const pattern: ConfigField<PatternTemplate> = {
  schema: Type.String({ format: 're2', ...templateSchema }),
  read(value, context) {
    const compiled = strictTemplate().read(value, context)
    if (compiled.literal === undefined) return { template: compiled, regex: undefined }
    try {
      return { template: compiled, regex: compileLinearRegex(compiled.literal) }
    } catch (error) {
      context.report('invalid_pattern', `it is not a regular expression of RE2: ${errorMessage(error)}`)
      return { template: compiled, regex: undefined }
    }
  },
}

export const flag: ConfigField<boolean> = {
  schema: Type.Boolean(),
  read(value, context) {
    if (typeof value !== 'boolean')
      context.report('wrong_type', `it must be true or false, not ${nounOf(value)}`)
    return value === true
  },
}

/** A whole number in a range. */
export function integer(minimum: number, maximum: number): ConfigField<number> {
  return {
    schema: Type.Integer({ minimum, maximum }),
    read(value, context) {
      if (typeof value !== 'number' || !Number.isInteger(value))
        context.report('wrong_type', `it must be a whole number, not ${nounOf(value)}`)
      else if (value < minimum || value > maximum)
        context.report('out_of_range', `it must be between ${minimum} and ${maximum}`)
      return value as number
    },
  }
}

/** A number in a range. */
export function number(minimum: number, maximum: number): ConfigField<number> {
  return {
    schema: Type.Number({ minimum, maximum }),
    read(value, context) {
      if (typeof value !== 'number') context.report('wrong_type', `it must be a number, not ${nounOf(value)}`)
      else if (value < minimum || value > maximum)
        context.report('out_of_range', `it must be between ${minimum} and ${maximum}`)
      return value as number
    },
  }
}

/** One of several words. */
export function choice<const W extends string>(...words: readonly W[]): ConfigField<W> {
  return {
    schema: Type.Union(words.map((word) => Type.Literal(word))),
    read(value, context) {
      if (!words.includes(value as W)) {
        const near = typeof value === 'string' ? findNearest(value, words) : undefined
        const hint = near === undefined ? `use one of ${words.join(', ')}` : `did you mean ${near}?`
        context.report('unknown_value', `${formatValue(value)} cannot be used; ${hint}`)
      }
      return value as W
    },
  }
}

const SECOND = 1000

/** A duration such as `10s` or, as Go writes it, a number of nanoseconds; read as milliseconds. Limits are in seconds. */
export function duration(minSeconds: number, maxSeconds: number): ConfigField<number> {
  return {
    schema: Type.Union([Type.String({ format: 'duration' }), Type.Integer()], {
      'x-seconds': [minSeconds, maxSeconds],
    }),
    read(value, context) {
      const millis = toMillis(value)
      if (millis === undefined)
        context.report('invalid_duration', `${formatValue(value)} is not a duration, such as 10s or 2m`)
      else if (millis < minSeconds * SECOND || millis > maxSeconds * SECOND)
        context.report('invalid_duration', `it must be between ${minSeconds}s and ${maxSeconds}s`)
      return millis ?? 0
    },
  }
}

function toMillis(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value / 1e6 : undefined
  if (typeof value !== 'string') return undefined
  try {
    return Number(parseDuration(value).nanos) / 1e6
  } catch {
    return undefined
  }
}

interface ListLimits {
  readonly minItems?: number
  readonly maxItems?: number
  readonly unique?: true
}

/** A list of fields of one kind. */
export function listOf<T>(item: ConfigField<T>, limits: ListLimits = {}): ConfigField<T[]> {
  const { minItems = 0, maxItems = 100, unique } = limits
  return {
    schema: Type.Array(item.schema, { minItems, maxItems, ...(unique && { uniqueItems: true }) }),
    read(value, context) {
      if (!Array.isArray(value)) {
        context.report('wrong_type', `it must be a list, not ${nounOf(value)}`)
        return []
      }
      if (value.length < minItems)
        context.report('empty_value', `it needs at least ${minItems} ${noun('entry', minItems)}`)
      if (value.length > maxItems) {
        context.report('list_too_long', `it has at most ${maxItems} entries`)
        return []
      }
      if (unique && new Set(value).size < value.length)
        context.report('duplicate_entry', 'it names something twice')
      return value.map((entry, index) => item.read(entry, context.child(index)))
    },
  }
}

/** A map of fields of one kind, whose names are checked. */
export function mapOf<T>(
  item: ConfigField<T>,
  { minItems = 0, maxItems = 100, checkName }: ListLimits & { checkName?: TextLimits['check'] },
): ConfigField<(readonly [name: string, value: T])[]> {
  return {
    schema: Type.Record(Type.String(), item.schema, { minProperties: minItems, maxProperties: maxItems }),
    read(value, context) {
      if (!isMap(value)) {
        context.report('wrong_type', `it must be a map, not ${nounOf(value)}`)
        return []
      }
      const entries = Object.entries(value)
      if (entries.length < minItems)
        context.report('empty_value', `it needs at least ${minItems} ${noun('entry', minItems)}`)
      if (entries.length > maxItems) {
        context.report('too_many_entries', `it has at most ${maxItems} entries`)
        return []
      }
      return entries.map(([name, entry]) => {
        const inner = context.child(name)
        const fault = checkName?.(name)
        if (fault !== undefined)
          inner.report(...(typeof fault === 'string' ? (['wrong_type', fault] as const) : fault))
        return [name, item.read(entry, inner)] as const
      })
    },
  }
}

/** A map with these fields and no others. */
export function object<F extends Readonly<Record<string, ConfigField>>>(
  fields: F,
  check?: (config: { [K in keyof F]: Read<F[K]> }, context: FieldContext) => void,
): ConfigField<{ [K in keyof F]: Read<F[K]> }> {
  const names = Object.keys(fields)
  return {
    schema: Type.Unsafe({
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, fields[name]!.schema])),
      required: names.filter((name) => fields[name]!.absent === undefined),
      additionalProperties: false,
    }),
    read(value, context) {
      const config: Record<string, unknown> = {}
      if (!isMap(value)) {
        context.report('unknown_field', `it must be a map, not ${nounOf(value)}`)
        return config as never
      }
      const known = new Set<string>()
      let isComplete = true
      const report = (field: FieldContext, error: PolicyErrorName, message: string) => {
        isComplete = false
        field.report(error, message)
      }
      for (const [name, field] of Object.entries(fields)) {
        const key = [name, ...(field.aliases ?? [])].find((spelling) => value[spelling] != null)
        for (const spelling of [name, ...(field.aliases ?? [])]) known.add(spelling)
        if (key !== undefined) {
          const inner = context.child(key)
          config[name] = field.read(value[key], { ...inner, report: (...args) => report(inner, ...args) })
        } else if (field.absent !== undefined) config[name] = field.absent.value
        else report(context, 'missing_field', `"${name}" is required`)
      }
      for (const key of Object.keys(value))
        if (!known.has(key)) report(context.child(key), 'unknown_field', unknownKey(key, names))
      if (isComplete) check?.(config as never, context)
      return config as never
    },
  }
}

function unknownKey(key: string, names: readonly string[]): string {
  const near = findNearest(key, names)
  const fields = names.length === 0 ? 'there are no fields' : `the fields are ${names.join(', ')}`
  return `"${key.slice(0, 60)}" is not a field; ${near === undefined ? fields : `did you mean ${near}?`}`
}

/** A configuration without fields. */
export const empty = object({})

/** A range of addresses, in a text that may contain `${}`. */
export const cidr = strictTemplate({
  check(value) {
    try {
      parseCidr(value)
      return undefined
    } catch (error) {
      return ['invalid_cidr', errorMessage(error)]
    }
  },
})

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** What is wrong with the name of a header. */
export function checkHeaderName(name: string): PolicyFault | undefined {
  if (!TOKEN.test(name)) return ['invalid_header_name', `"${name.slice(0, 60)}" is not the name of a header`]
  if (isConnectionField(name.toLowerCase()))
    return ['reserved_header', `${name} cannot be changed, since it belongs to the connection`]
  return undefined
}

const MAX_HEADERS = 10
const MAX_HEADER_LENGTH = 8192

/** Headers by name, with values that may contain `${}`. */
export const headers = (checkName = checkHeaderName) =>
  mapOf(
    template({
      maxLength: MAX_HEADER_LENGTH,
      check: (value) =>
        /[\r\n\0]/.test(value)
          ? ['invalid_header_value', 'a header must not contain line breaks']
          : undefined,
    }),
    { maxItems: MAX_HEADERS, checkName },
  )

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function nounOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map'
  return formatValue(value)
}

const formatValue = (value: unknown) => JSON.stringify(value)?.slice(0, 80) ?? 'nothing'
const noun = (singular: string, count: number) => (count === 1 ? singular : singular.replace(/y$/, 'ies'))

import type { Environment, Inspect } from '../cel/index.ts'
import {
  AbsentField,
  chargeLength,
  compile,
  EvaluationError,
  type Program,
  type Value,
} from '../cel/index.ts'
import type { Activation } from './activation.ts'
import { valueText } from './value-text.ts'

/** A text with `${}`. Evaluating it throws `EvaluationError`, for a text that is too long too, or `CostExceeded`. */
export interface Template {
  readonly source: string
  /** The text when it has no `${}`. */
  readonly literal: string | undefined
  evaluate(activation: Activation): string
  /** The same, but a text that is nothing but one `${}` keeps the type of its value. */
  evaluateValue(activation: Activation): Value
}

/** What is wrong with a template. */
export class TemplateError extends Error {
  override name = 'TemplateError'
}

/** A template without `${}`. */
export function literalTemplate(text: string): Template {
  return { source: text, literal: text, evaluate: () => text, evaluateValue: () => text }
}

/** What a fact or result that is absent becomes in a text: nothing, or a failure. */
export type WhenAbsent = 'empty' | 'fail'

/**
 * Compiles a text in which `${ expression }` stands for the value of the expression, and which then has at most `maxLength`
 * characters. Throws `TemplateError`.
 */
export function compileTemplate(
  source: string,
  environment: Environment,
  maxLength: number,
  whenAbsent: WhenAbsent = 'fail',
  inspect?: Inspect,
): Template {
  const parts: (string | Program)[] = []
  let position = 0
  for (let start = source.indexOf('${'); start !== -1; start = source.indexOf('${', position)) {
    if (start > position) parts.push(source.slice(position, start))
    const end = findEnd(source, start + 2)
    if (end === undefined) throw new TemplateError(`"\${" at character ${start + 1} has no closing brace`)
    const part = compilePart(source.slice(start + 2, end), environment, inspect)
    parts.push(whenAbsent === 'empty' ? orEmpty(part) : part)
    position = end + 1
  }
  if (parts.length === 0) return literalTemplate(source)
  if (position < source.length) parts.push(source.slice(position))
  const [first] = parts
  const append = (text: string, value: Value, { budget }: Activation): string => {
    const part = valueText(value, budget)
    if (text.length + part.length > maxLength)
      throw new EvaluationError(
        `the text "${source.slice(0, 80)}" becomes longer than the ${maxLength} characters that are allowed here`,
      )
    chargeLength(budget, part.length)
    return text + part
  }
  const evaluate = (activation: Activation) => {
    let text = ''
    for (const part of parts)
      text = append(text, typeof part === 'string' ? part : part.evaluate(activation), activation)
    return text
  }
  if (parts.length > 1 || typeof first !== 'object')
    return { source, literal: undefined, evaluate, evaluateValue: evaluate }
  const evaluateValue = (activation: Activation) => {
    const value = first.evaluate(activation) ?? ''
    return typeof value === 'string' ? append('', value, activation) : value
  }
  return { source, literal: undefined, evaluate, evaluateValue }
}

/** The same program, which is an empty text where something that it reads is absent. */
const orEmpty = (program: Program): Program => ({
  ...program,
  evaluate(activation) {
    try {
      return program.evaluate(activation)
    } catch (error) {
      if (error instanceof AbsentField) return ''
      throw error
    }
  },
})

function compilePart(expression: string, environment: Environment, inspect?: Inspect): Program {
  const compilation = compile(expression, environment, inspect)
  if (compilation.ok) return compilation.program
  const [{ message, column }] = compilation.errors as [(typeof compilation.errors)[number]]
  throw new TemplateError(`in \${${expression.trim().slice(0, 80)}}: ${message} (character ${column})`)
}

/** The brace that closes an expression; those in its texts and maps do not count. */
function findEnd(source: string, start: number): number | undefined {
  let depth = 0
  for (let index = start; index < source.length; index++) {
    const character = source[index]
    if (character === '"' || character === "'") index = endOfText(source, index)
    else if (character === '{') depth++
    else if (character === '}' && depth-- === 0) return index
  }
  return undefined
}

/** The last character of a text literal of CEL: quoted once or three times, raw or not. */
function endOfText(source: string, start: number): number {
  const quote = source[start]!
  const closing = source.startsWith(quote.repeat(3), start) ? quote.repeat(3) : quote
  const raw = /[rR]/.test(source[start - 1] ?? '')
  for (let index = start + closing.length; index < source.length; index++) {
    if (!raw && source[index] === '\\') index++
    else if (source.startsWith(closing, index)) return index + closing.length - 1
  }
  return source.length
}

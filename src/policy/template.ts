import type { Activation } from './activation.ts'
import { compile, type Program } from './cel/compile.ts'
import type { Environment } from './cel/environment.ts'
import { valueText } from './value-text.ts'

/** A text with `${}`. */
export interface Template {
  readonly source: string
  /** The text when it has no `${}`. */
  readonly literal: string | undefined
  /** The program when the text is nothing but one `${}`. */
  readonly program: Program | undefined
  /** Throws `EvaluationError` or `CostExceeded`. */
  evaluate(activation: Activation): string
}

/** What is wrong with a template. */
export class TemplateError extends Error {
  override name = 'TemplateError'
}

/** Compiles a text in which `${ expression }` stands for the value of the expression. Throws `TemplateError`. */
export function compileTemplate(source: string, environment: Environment): Template {
  const parts: (string | Program)[] = []
  let position = 0
  for (let start = source.indexOf('${'); start !== -1; start = source.indexOf('${', position)) {
    if (start > position) parts.push(source.slice(position, start))
    const end = findEnd(source, start + 2)
    if (end === undefined) throw new TemplateError(`"\${" at character ${start + 1} has no closing brace`)
    parts.push(compilePart(source.slice(start + 2, end), environment))
    position = end + 1
  }
  if (position < source.length || parts.length === 0) parts.push(source.slice(position))
  const [first] = parts as [string | Program]
  if (parts.length > 1) return { source, literal: undefined, program: undefined, evaluate: joined(parts) }
  if (typeof first === 'string') return { source, literal: first, program: undefined, evaluate: () => first }
  return {
    source,
    literal: undefined,
    program: first,
    evaluate: (activation) => valueText(first.evaluate(activation)),
  }
}

const joined = (parts: readonly (string | Program)[]) => (activation: Activation) => {
  let text = ''
  for (const part of parts) text += typeof part === 'string' ? part : valueText(part.evaluate(activation))
  return text
}

function compilePart(expression: string, environment: Environment): Program {
  const compilation = compile(expression, environment)
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

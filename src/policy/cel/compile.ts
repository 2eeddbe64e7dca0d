import { check } from './check.ts'
import { Frame, toClosure } from './closures.ts'
import { type Diagnostic, diagnose, SourceError } from './diagnostic.ts'
import type { Environment } from './environment.ts'
import { parse } from './parse.ts'
import type { Type } from './types.ts'
import type { Value } from './values.ts'

/** What one evaluation may cost: about a millisecond of work. */
const DEFAULT_BUDGET = 20_000

/** A compiled expression. */
export interface Program {
  readonly type: Type
  /**
   * Evaluates the expression. Throws `EvaluationError` when it fails and `CostExceeded` when it spends its budget: what it
   * guards must deny then.
   */
  evaluate(activation: unknown, budget?: number): Value
}

export type Compilation =
  | { readonly ok: true; readonly program: Program }
  | { readonly ok: false; readonly errors: readonly Diagnostic[] }

/** Parses, checks and compiles an expression. */
export function compile(source: string, environment: Environment): Compilation {
  const reject = (...mistakes: readonly SourceError[]): Compilation => ({
    ok: false,
    errors: mistakes.map((mistake) => diagnose(source, mistake)),
  })
  try {
    const expr = parse(source)
    const outcome = check(expr, environment)
    if ('mistakes' in outcome) return reject(...outcome.mistakes)
    const { type, slots } = outcome.checked
    const run = toClosure(expr, outcome.checked)
    const evaluate = (activation: unknown, budget = DEFAULT_BUDGET) =>
      run(new Frame(activation, slots, budget))
    return { ok: true, program: { type, evaluate } }
  } catch (error) {
    if (error instanceof SourceError) return reject(error)
    throw error
  }
}

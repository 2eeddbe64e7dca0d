import { Budget } from './budget.ts'
import { check } from './check.ts'
import { Frame, toClosure } from './closures.ts'
import { type Diagnostic, diagnose, SourceError } from './diagnostic.ts'
import type { Environment } from './environment.ts'
import { parse } from './parse.ts'
import type { Inspect } from './reads.ts'
import type { Type } from './types.ts'
import type { Value } from './values.ts'

/** A compiled expression. */
export interface Program {
  readonly type: Type
  /**
   * Evaluates the expression within the budget of its environment. Throws `EvaluationError` when it fails and `CostExceeded`
   * when it spends the budget: what it guards must deny then.
   */
  evaluate(activation: unknown): Value
}

export type Compilation =
  | { readonly ok: true; readonly program: Program }
  | { readonly ok: false; readonly errors: readonly Diagnostic[] }

/** Parses, checks and compiles an expression. */
export function compile(source: string, environment: Environment, inspect?: Inspect): Compilation {
  const reject = (...mistakes: readonly SourceError[]): Compilation => ({
    ok: false,
    errors: mistakes.map((mistake) => diagnose(source, mistake)),
  })
  try {
    const expr = parse(source)
    const outcome = check(expr, environment)
    if ('mistakes' in outcome) return reject(...outcome.mistakes)
    inspect?.(expr, outcome.checked)
    const { type, slots } = outcome.checked
    const { run, cost } = toClosure(expr, outcome.checked)
    const { budgetOf } = environment
    const evaluate = (activation: unknown) => {
      const budget = budgetOf?.(activation as never) ?? new Budget()
      budget.charge(cost)
      return run(new Frame(activation, slots, budget))
    }
    return { ok: true, program: { type, evaluate } }
  } catch (error) {
    if (error instanceof SourceError) return reject(error)
    throw error
  }
}

import type { Program } from '../cel/index.ts'
import { EvaluationError } from '../cel/index.ts'
import type { Activation } from './activation.ts'

/**
 * An action as it runs: returns undefined to go on, or what ends the phase. A promise holds the traffic until it settles.
 */
export type ActionStep<C, R> = (context: C) => R | undefined | Promise<R | undefined>

/** A rule with its actions compiled for the place where it runs. */
export interface CompiledRule<C, R> {
  readonly name: string
  /** Where the rule is and what in it rejects, for messages; undefined when it rejects nothing. */
  readonly guard: string | undefined
  readonly conditions: readonly Program[]
  readonly steps: readonly ActionStep<C, R>[]
}

/** An expression of a rule that rejects could not be evaluated: nothing tells whether the traffic may pass. */
export class UndecidedRule extends Error {
  override name = 'UndecidedRule'
  readonly guard: string
  /** Why the expression could not be evaluated. */
  readonly reason: string

  constructor(guard: string, reason: string) {
    super(`${guard}: ${reason}`)
    this.guard = guard
    this.reason = reason
  }
}

/**
 * Runs the rules of a phase in order, and the actions of each rule whose expressions are all true, until one ends the
 * phase. Expressions are evaluated when their rule is reached, so they see what earlier actions did. One that fails, for
 * a missing key or the like, is not true, but throws `UndecidedRule` in a rule that rejects, unless another one is false;
 * one that spends its budget throws `CostExceeded`.
 */
export function runRules<C, R>(
  rules: readonly CompiledRule<C, R>[],
  activation: Activation,
  context: C,
): R | undefined | Promise<R | undefined> {
  for (let index = 0; index < rules.length; index++) {
    const rule = rules[index]!
    if (!holds(rule, activation)) continue
    const { steps } = rule
    for (let step = 0; step < steps.length; step++) {
      const result = steps[step]!(context)
      if (result === undefined) continue
      if (!(result instanceof Promise)) return result
      return resume(rules, activation, context, result, index, step)
    }
  }
  return undefined
}

/** Continues after a step that had to wait. */
async function resume<C, R>(
  rules: readonly CompiledRule<C, R>[],
  activation: Activation,
  context: C,
  pending: Promise<R | undefined>,
  index: number,
  step: number,
): Promise<R | undefined> {
  let result = await pending
  const { steps } = rules[index]!
  for (let next = step + 1; result === undefined && next < steps.length; next++)
    result = await steps[next]!(context)
  return result ?? runRules(rules.slice(index + 1), activation, context)
}

function holds<C, R>({ conditions, guard }: CompiledRule<C, R>, activation: Activation): boolean {
  let reason: string | undefined
  for (const condition of conditions) {
    try {
      const value = condition.evaluate(activation)
      if (value === false) return false
      if (value !== true) reason ??= 'the expression is neither true nor false'
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      reason ??= error.message
    }
    if (reason !== undefined && guard === undefined) return false
  }
  if (reason !== undefined) throw new UndecidedRule(guard!, reason)
  return true
}

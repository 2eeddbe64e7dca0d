import {
  Budget,
  CostExceeded,
  EvaluationError,
  type Meter,
  type Program,
  type Value,
} from '../../../cel/index.ts'
import {
  PHASES,
  type PhaseName,
  type Policy,
  type PolicyAction,
  type PolicyRule,
  toJson,
} from '../../../policy/index.ts'

/** The value of an expression, or why it has none. Absent when it was not evaluated. */
export interface ExpressionTrace {
  readonly expression: string
  value?: unknown
  error?: string
}

export interface ActionTrace {
  readonly type: string
  /** `would` for one that reaches outside, which a trial does not do. */
  outcome: 'ran' | 'would' | 'not reached'
  effect: string
  /** What `actions.ngrok` shows of it. */
  result?: unknown
}

/** What became of a rule. */
export interface RuleTrace {
  readonly phase: PhaseName
  /** Counted from 1. */
  readonly rule: number
  readonly name: string
  outcome: 'matched' | 'not matched' | 'undecided' | 'not reached'
  readonly expressions: readonly ExpressionTrace[]
  readonly actions: readonly ActionTrace[]
}

/** A few megabytes of JSON. */
const SHOWN_UNITS = 1_000_000

/** Records what the rules of a policy decide. */
export class PolicyTrace {
  readonly rules: RuleTrace[] = []
  /** The same policy, whose expressions are recorded. */
  readonly policy: Policy
  /** What may be shown of one trial. */
  readonly #shown = new Budget(SHOWN_UNITS, '(too much to show)')
  readonly #actions = new Map<PolicyAction, { readonly rule: RuleTrace; readonly trace: ActionTrace }>()

  constructor({ phases }: Policy) {
    this.policy = {
      phases: Object.fromEntries(
        PHASES.flatMap((phase) => {
          const rules = phases[phase]
          return rules === undefined
            ? []
            : [[phase, rules.map((rule, index) => this.#record(rule, phase, index + 1))]]
        }),
      ),
    }
  }

  /** A value or the result of an action as JSON: nested plain objects whose leaves are values of expressions. */
  show(value: unknown): unknown {
    try {
      return resultToJson(value, this.#shown)
    } catch (error) {
      if (error instanceof CostExceeded) return error.message
      throw error
    }
  }

  /** The record of an action that runs now. */
  start(action: PolicyAction): ActionTrace {
    const { rule, trace } = this.#actions.get(action)!
    rule.outcome = 'matched'
    trace.outcome = 'ran'
    return trace
  }

  #record(rule: PolicyRule, phase: PhaseName, number: number): PolicyRule {
    const expressions: ExpressionTrace[] = rule.expressions.map((expression) => ({ expression }))
    const actions: ActionTrace[] = rule.actions.map(({ action: { type } }) => ({
      type,
      outcome: 'not reached',
      effect: '',
    }))
    const trace: RuleTrace = {
      phase,
      rule: number,
      name: rule.name,
      outcome: 'not reached',
      expressions,
      actions,
    }
    this.rules.push(trace)
    for (const [index, action] of rule.actions.entries())
      this.#actions.set(action, { rule: trace, trace: actions[index]! })
    const rejects = rule.actions.some(({ action, config }) => action.rejects(config))
    const conditions = rule.conditions.map((program, index) =>
      this.#recordProgram(program, expressions[index]!, (value) => {
        if (value === false || (value !== true && !rejects)) trace.outcome = 'not matched'
        else if (value !== true && trace.outcome !== 'not matched') trace.outcome = 'undecided'
      }),
    )
    return { ...rule, conditions }
  }

  #recordProgram(
    program: Program,
    trace: ExpressionTrace,
    onValue: (value: Value | undefined) => void,
  ): Program {
    return {
      ...program,
      evaluate: (activation) => {
        try {
          const value = program.evaluate(activation)
          trace.value = this.show(value)
          onValue(value)
          return value
        } catch (error) {
          if (error instanceof Error) trace.error = error.message
          if (error instanceof EvaluationError) onValue(undefined)
          throw error
        }
      },
    }
  }
}

function resultToJson(result: unknown, meter: Meter): unknown {
  if (result === undefined || typeof result === 'number') return result
  if (Array.isArray(result)) return result.map((element) => resultToJson(element, meter))
  if (result !== null && Object.getPrototypeOf(result) === Object.prototype)
    return Object.fromEntries(Object.entries(result).map(([key, value]) => [key, resultToJson(value, meter)]))
  return toJson(result as Value, meter)
}

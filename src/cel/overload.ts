import type { Meter } from './budget.ts'
import type { Type } from './types.ts'
import type { Value } from './values.ts'

/** What a function of the environment is given beside its arguments. */
export interface CallContext extends Meter {
  /** What `evaluate` was given. */
  readonly activation: unknown
}

/** One signature of a function with its behaviour. The receiver, if there is one, is the first parameter. */
export interface Overload {
  readonly name: string
  readonly receiver: boolean
  readonly parameters: readonly Type[]
  readonly result: Type
  readonly call: Call
  /**
   * Prepares a call of which some arguments are literals, in `constants`; the others are undefined. Throws
   * `EvaluationError` when a literal cannot be used, which is then a mistake of the expression.
   */
  readonly specialize?: (constants: readonly (Value | undefined)[]) => Call | undefined
}

// The arguments have the types of the signature, which the compiler of this language checks and TypeScript cannot.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Call = (context: CallContext, ...args: any[]) => Value

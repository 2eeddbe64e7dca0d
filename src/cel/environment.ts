import type { Budget } from './budget.ts'
import { standardLibrary } from './library/index.ts'
import type { Overload } from './overload.ts'
import type { Type } from './types.ts'

/** A variable. `read` is given the activation and runs only when an expression needs the variable. */
export interface Variable {
  readonly type: Type
  /** Returns undefined when the variable is absent in this evaluation. For an object: its source. */
  readonly read: (activation: never) => unknown
}

export interface Declarations {
  /** By name; names may have dots. */
  readonly variables: Readonly<Record<string, Variable>>
  /** Functions beside the standard ones. */
  readonly functions?: readonly Overload[]
  /** The budget that evaluations with this activation share; without it each has one of its own. */
  readonly budgetOf?: ((activation: never) => Budget) | undefined
}

/** What expressions may use: variables and functions, indexed. */
export class Environment {
  readonly variables: ReadonlyMap<string, Variable>
  /** Those beside the standard ones. */
  readonly functions: readonly Overload[]
  readonly budgetOf: Declarations['budgetOf']
  readonly #overloads = new Map<string, Overload[]>()

  constructor({ variables, functions = [], budgetOf }: Declarations) {
    this.functions = functions
    this.budgetOf = budgetOf
    this.variables = new Map(Object.entries(variables))
    for (const overload of [...standardLibrary, ...functions]) {
      const overloads = this.#overloads.get(overload.name)
      if (overloads === undefined) this.#overloads.set(overload.name, [overload])
      else overloads.push(overload)
    }
  }

  /** The same with further variables. */
  with(variables: Declarations['variables']): Environment {
    return new Environment({ ...this, variables: { ...Object.fromEntries(this.variables), ...variables } })
  }

  overloads(name: string): readonly Overload[] {
    return this.#overloads.get(name) ?? []
  }

  get functionNames(): Iterable<string> {
    return this.#overloads.keys()
  }
}

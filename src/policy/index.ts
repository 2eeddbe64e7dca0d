/**
 * Policy: the expression language of Adit, CEL. Uses `base` alone. Begin with `cel/compile.ts`: an expression is tokenized
 * and parsed (`tokens.ts`, `parse.ts`, `macros.ts`), checked against an `Environment` (`check.ts`, `assign.ts`), compiled to
 * closures (`closures.ts`) and then evaluated as often as needed, each time within a budget. `cel/library/` has the
 * functions, one file a family.
 */
export { compile, type Program } from './cel/compile.ts'
export { Environment } from './cel/environment.ts'
export { DYN, type Field, objectOf, type Shape } from './cel/types.ts'
export { CostExceeded, Double, EvaluationError, type Value } from './cel/values.ts'

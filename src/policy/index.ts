/**
 * Policy: the expression language of Adit, CEL. Uses `base` alone. Begin with `cel/compile.ts`: an expression is tokenized
 * and parsed (`tokens.ts`, `parse.ts`, `macros.ts`), checked against an `Environment` (`check.ts`, `assign.ts`), compiled to
 * closures (`closures.ts`) and then evaluated as often as needed, each time within a budget. `cel/library/` has the
 * functions, one file a family. `condition.ts` compiles what has to be true or false, such as a filter.
 */
export type { Program } from './cel/compile.ts'
export { Environment } from './cel/environment.ts'
export { fromJson } from './cel/from-json.ts'
export { overload } from './cel/signature.ts'
export { parseDuration, parseTimestamp } from './cel/time.ts'
export { DYN, type Field, objectOf, type Shape, STRING, TIMESTAMP } from './cel/types.ts'
export { CostExceeded, EvaluationError, Timestamp } from './cel/values.ts'
export { compileCondition } from './condition.ts'

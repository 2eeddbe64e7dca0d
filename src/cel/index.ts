/**
 * CEL, the Common Expression Language of list filters, event filters and traffic policies. Begin with `compile.ts`: an
 * expression is tokenized and parsed (`tokens.ts`, `parse.ts`, `macros.ts`), checked against an `Environment`
 * (`check.ts`, `assign.ts`), compiled to closures (`closures.ts`) and then evaluated as often as needed, each time
 * within a budget. `condition.ts` compiles what has to be true or false. `library/` has the functions, one file a
 * family.
 */
export { Budget, type Meter } from './budget.ts'
export { chargeKey, chargeLength } from './compare.ts'
export { compile, type Program } from './compile.ts'
export { type Condition, compileCondition } from './condition.ts'
export { type Declarations, Environment, type Variable } from './environment.ts'
export { fromJson } from './from-json.ts'
export { standardLibrary } from './library/index.ts'
export { macroForms } from './macros.ts'
export type { CallContext, Overload } from './overload.ts'
export { type Inspect, type Read, readsOf } from './reads.ts'
export { overload } from './signature.ts'
export { durationText, parseDuration, parseTimestamp, timestampText } from './time.ts'
export {
  BOOL,
  BYTES,
  DURATION,
  DYN,
  type Field,
  INT,
  listOf,
  mapOf,
  objectOf,
  type Shape,
  STRING,
  TIMESTAMP,
  type Type,
  typeText,
} from './types.ts'
export {
  AbsentField,
  CostExceeded,
  Double,
  Duration,
  EvaluationError,
  type Int,
  isInt,
  isList,
  keysOf,
  lookUp,
  type MapKey,
  type MapValue,
  Optional,
  Struct,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts'

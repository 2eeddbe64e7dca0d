import { overload } from '../signature.ts'
import {
  Double,
  Duration,
  EvaluationError,
  isList,
  NONE,
  Optional,
  Timestamp,
  Uint,
  type Value,
} from '../values.ts'

function isZero(value: Value): boolean {
  if (value === null || value === false || value === 0 || value === '') return true
  if (isList(value) || value instanceof Uint8Array) return value.length === 0
  if (value instanceof Map) return value.size === 0
  if (value instanceof Uint) return value.value === 0n
  if (value instanceof Double) return value.value === 0
  if (value instanceof Duration || value instanceof Timestamp) return value.nanos === 0n
  return false
}

function unwrap(list: readonly Value[]): Value[] {
  return list.flatMap((element) =>
    element instanceof Optional && element.value !== undefined ? [element.value] : [],
  )
}

/** Values that may be absent. */
export const optionals = [
  overload('optional.none() -> optional(A)', () => NONE),
  overload('optional.of(A) -> optional(A)', (_context, value: Value) => new Optional(value)),
  overload('optional.ofNonZeroValue(A) -> optional(A)', (_context, value: Value) =>
    isZero(value) ? NONE : new Optional(value),
  ),
  overload('optional(A).hasValue() -> bool', (_context, { value }: Optional) => value !== undefined),
  overload('optional(A).value() -> A', (_context, { value }: Optional) => {
    if (value === undefined) throw new EvaluationError('optional.none() has no value')
    return value
  }),
  overload('optional(A).or(optional(A)) -> optional(A)', (_context, one: Optional, other: Optional) =>
    one.value === undefined ? other : one,
  ),
  overload('optional(A).orValue(A) -> A', (_context, { value }: Optional, fallback: Value) =>
    value === undefined ? fallback : value,
  ),
  ...['optional.unwrap(list(optional(A))) -> list(A)', 'list(optional(A)).unwrapOpt() -> list(A)'].map(
    (signature) =>
      overload(signature, (context, list: readonly Value[]) => {
        context.charge(1 + list.length)
        return unwrap(list)
      }),
  ),
]

import { chargeLength } from '../compare.ts'
import { overload } from '../signature.ts'
import { toDuration, toTimestamp } from '../time.ts'
import {
  Double,
  type Duration,
  EvaluationError,
  type Int,
  int,
  type Timestamp,
  type Uint,
  uint,
  type Value,
} from '../values.ts'

// Sums of two safe integers are exact doubles or fail the test; products too, once they are known to be safe.
const add = (left: Int, right: Int): Int => {
  if (typeof left === 'number' && typeof right === 'number') {
    const sum = left + right
    if (Number.isSafeInteger(sum)) return sum
  }
  return int(BigInt(left) + BigInt(right))
}

const subtract = (left: Int, right: Int): Int => {
  if (typeof left === 'number' && typeof right === 'number') {
    const difference = left - right
    if (Number.isSafeInteger(difference)) return difference
  }
  return int(BigInt(left) - BigInt(right))
}

const multiply = (left: Int, right: Int): Int => {
  if (typeof left === 'number' && typeof right === 'number') {
    const product = left * right
    // A product of zero and a negative number would be -0, which is no int.
    if (Number.isSafeInteger(product)) return product + 0
  }
  return int(BigInt(left) * BigInt(right))
}

const divide = (left: Int, right: Int): Int => {
  if (right === 0) throw new EvaluationError('divide by zero')
  if (typeof left === 'number' && typeof right === 'number') return Math.trunc(left / right) + 0
  return int(BigInt(left) / BigInt(right))
}

const remainder = (left: Int, right: Int): Int => {
  if (right === 0) throw new EvaluationError('modulus by zero')
  if (typeof left === 'number' && typeof right === 'number') return (left % right) + 0
  return int(BigInt(left) % BigInt(right))
}

const uintOperator = (operator: string, run: (left: bigint, right: bigint) => bigint) =>
  overload(`_${operator}_(uint, uint) -> uint`, (_context, left: Uint, right: Uint) => {
    if (right.value === 0n && (operator === '/' || operator === '%'))
      throw new EvaluationError(operator === '/' ? 'divide by zero' : 'modulus by zero')
    return uint(run(left.value, right.value))
  })

const doubleOperator = (operator: string, run: (left: number, right: number) => number) =>
  overload(
    `_${operator}_(double, double) -> double`,
    (_context, left: Double, right: Double) => new Double(run(left.value, right.value)),
  )

/** The operators + - * / % and the signs. */
export const arithmetic = [
  overload('_+_(int, int) -> int', (_context, left: Int, right: Int) => add(left, right)),
  overload('_-_(int, int) -> int', (_context, left: Int, right: Int) => subtract(left, right)),
  overload('_*_(int, int) -> int', (_context, left: Int, right: Int) => multiply(left, right)),
  overload('_/_(int, int) -> int', (_context, left: Int, right: Int) => divide(left, right)),
  overload('_%_(int, int) -> int', (_context, left: Int, right: Int) => remainder(left, right)),
  uintOperator('+', (left, right) => left + right),
  uintOperator('-', (left, right) => left - right),
  uintOperator('*', (left, right) => left * right),
  uintOperator('/', (left, right) => left / right),
  uintOperator('%', (left, right) => left % right),
  doubleOperator('+', (left, right) => left + right),
  doubleOperator('-', (left, right) => left - right),
  doubleOperator('*', (left, right) => left * right),
  doubleOperator('/', (left, right) => left / right),
  overload('-_(int) -> int', (_context, value: Int) => subtract(0, value)),
  overload('-_(double) -> double', (_context, value: Double) => new Double(-value.value)),
  overload('!_(bool) -> bool', (_context, value: boolean) => !value),
  overload('_+_(string, string) -> string', (context, left: string, right: string) => {
    chargeLength(context, left.length + right.length)
    return left + right
  }),
  overload('_+_(bytes, bytes) -> bytes', (context, left: Uint8Array, right: Uint8Array) => {
    chargeLength(context, left.length + right.length)
    return new Uint8Array(Buffer.concat([left, right]))
  }),
  overload('_+_(list(A), list(A)) -> list(A)', (context, left: readonly Value[], right: readonly Value[]) => {
    context.charge(1 + left.length + right.length)
    return [...left, ...right]
  }),
  overload('_+_(timestamp, duration) -> timestamp', (_context, time: Timestamp, span: Duration) =>
    toTimestamp(time.nanos + span.nanos),
  ),
  overload('_+_(duration, timestamp) -> timestamp', (_context, span: Duration, time: Timestamp) =>
    toTimestamp(time.nanos + span.nanos),
  ),
  overload('_+_(duration, duration) -> duration', (_context, left: Duration, right: Duration) =>
    toDuration(left.nanos + right.nanos),
  ),
  overload('_-_(timestamp, timestamp) -> duration', (_context, left: Timestamp, right: Timestamp) =>
    toDuration(left.nanos - right.nanos),
  ),
  overload('_-_(timestamp, duration) -> timestamp', (_context, time: Timestamp, span: Duration) =>
    toTimestamp(time.nanos - span.nanos),
  ),
  overload('_-_(duration, duration) -> duration', (_context, left: Duration, right: Duration) =>
    toDuration(left.nanos - right.nanos),
  ),
]

import { compareNumbers } from '../compare.ts'
import type { CallContext } from '../overload.ts'
import { overload } from '../signature.ts'
import { Double, EvaluationError, type Int, int, Uint, uint, type Value } from '../values.ts'

const NUMERIC = ['int', 'uint', 'double']

type Numeric = Int | Uint | Double

/** The greatest of some numbers when `sign` is 1, the least when it is -1. */
function extreme(context: CallContext, numbers: readonly Numeric[], sign: number): Value {
  context.charge(1 + numbers.length)
  if (numbers.length === 0) throw new EvaluationError('the list is empty')
  if (numbers.some((number) => !isNumeric(number)))
    throw new EvaluationError('no such overload: numbers only')
  return numbers.reduce((best, number) => (compareNumbers(number, best) * sign > 0 ? number : best))
}

const isNumeric = (value: Value) =>
  typeof value === 'number' || typeof value === 'bigint' || value instanceof Uint || value instanceof Double

const extremes = (name: string, sign: number) => [
  ...NUMERIC.map((type) => overload(`math.${name}(${type}) -> ${type}`, (_context, value: Value) => value)),
  ...NUMERIC.flatMap((one) =>
    NUMERIC.map((other) =>
      overload(
        `math.${name}(${one}, ${other}) -> ${one === other ? one : 'dyn'}`,
        (context, left: Numeric, right: Numeric) => extreme(context, [left, right], sign),
      ),
    ),
  ),
  ...NUMERIC.map((type) =>
    overload(`math.${name}(list(${type})) -> ${type}`, (context, list: Numeric[]) =>
      extreme(context, list, sign),
    ),
  ),
]

const rounding = (name: string, round: (value: number) => number) =>
  overload(`math.${name}(double) -> double`, (_context, { value }: Double) => new Double(round(value)))

const test = (name: string, holds: (value: number) => boolean) =>
  overload(`math.${name}(double) -> bool`, (_context, { value }: Double) => holds(value))

const bits = (name: string, run: (left: bigint, right: bigint) => bigint) => [
  overload(`math.${name}(int, int) -> int`, (_context, left: Int, right: Int) =>
    int(BigInt.asIntN(64, run(BigInt(left), BigInt(right)))),
  ),
  overload(`math.${name}(uint, uint) -> uint`, (_context, left: Uint, right: Uint) =>
    uint(BigInt.asUintN(64, run(left.value, right.value))),
  ),
]

const shift = (name: string, run: (value: bigint, bits: bigint) => bigint) => [
  overload(`math.${name}(int, int) -> int`, (_context, value: Int, bits: Int) =>
    // Bits that are shifted in are zeros, on the left too.
    int(BigInt.asIntN(64, run(BigInt.asUintN(64, BigInt(value)), shiftWidth(bits)))),
  ),
  overload(`math.${name}(uint, int) -> uint`, (_context, { value }: Uint, bits: Int) =>
    uint(BigInt.asUintN(64, run(value, shiftWidth(bits)))),
  ),
]

function shiftWidth(bits: Int): bigint {
  if (bits < 0) throw new EvaluationError('negative offset of a shift')
  return bits > 64 ? 64n : BigInt(bits)
}

// Half away from zero; Math.round rounds -0.5 up.
const roundHalfAway = (value: number) => Math.sign(value) * Math.round(Math.abs(value))

const magnitude = (value: Int): Int => (value < 0 ? int(-BigInt(value)) : value)

/** Functions on numbers. */
export const math = [
  ...extremes('greatest', 1),
  ...extremes('least', -1),
  rounding('ceil', Math.ceil),
  rounding('floor', Math.floor),
  rounding('round', (value) => (Number.isFinite(value) ? roundHalfAway(value) : value)),
  rounding('trunc', Math.trunc),
  rounding('abs', Math.abs),
  rounding('sign', Math.sign),
  overload('math.sqrt(int) -> double', (_context, value: Int) => new Double(Math.sqrt(Number(value)))),
  overload('math.sqrt(uint) -> double', (_context, { value }: Uint) => new Double(Math.sqrt(Number(value)))),
  rounding('sqrt', Math.sqrt),
  overload('math.abs(int) -> int', (_context, value: Int) => magnitude(value)),
  overload('math.abs(uint) -> uint', (_context, value: Uint) => value),
  overload('math.sign(int) -> int', (_context, value: Int) => Number(value > 0) - Number(value < 0)),
  overload('math.sign(uint) -> uint', (_context, { value }: Uint) => new Uint(value > 0n ? 1n : 0n)),
  test('isNaN', Number.isNaN),
  test('isInf', (value) => Math.abs(value) === Number.POSITIVE_INFINITY),
  test('isFinite', Number.isFinite),
  ...bits('bitAnd', (left, right) => left & right),
  ...bits('bitOr', (left, right) => left | right),
  ...bits('bitXor', (left, right) => left ^ right),
  overload('math.bitNot(int) -> int', (_context, value: Int) => int(~BigInt(value))),
  overload('math.bitNot(uint) -> uint', (_context, { value }: Uint) => uint(BigInt.asUintN(64, ~value))),
  ...shift('bitShiftLeft', (value, bits) => value << bits),
  ...shift('bitShiftRight', (value, bits) => value >> bits),
]

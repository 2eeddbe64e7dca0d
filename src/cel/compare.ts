import type { Meter } from './budget.ts'
import type { CallContext } from './overload.ts'
import {
  Double,
  Duration,
  type Int,
  isInt,
  isList,
  type MapValue,
  Opaque,
  Optional,
  Struct,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts'

/** A unit covers this many characters, bytes or elements that are read or copied in one go. */
const LENGTH_PER_UNIT = 16

/** Charges for work on a text or a list of this length. */
export function chargeLength(meter: Meter, length: number): void {
  meter.charge(1 + Math.floor(length / LENGTH_PER_UNIT))
}

/** Finding out how two values that are not plain compare takes about this many steps. */
const OBJECT_COST = 4

/** Charges for finding a key in a map or set, which compares the whole text. Returns the key. */
export function chargeKey(meter: Meter, key: Value): Value {
  if (typeof key === 'string') chargeLength(meter, key.length)
  return key
}

/** Whether two values are equal: numbers by their value, whatever their types; lists and maps by their elements. */
export function equal(context: CallContext, left: Value, right: Value): boolean {
  if (left === right && typeof left !== 'object') return true
  if (typeof left === 'string' && typeof right === 'string') {
    if (left.length === right.length) chargeLength(context, left.length)
    return false
  }
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right) === 0
  if (left === null || right === null) return left === right
  if (typeof left !== 'object' || typeof right !== 'object') return false
  context.charge(OBJECT_COST)
  if (isList(left)) return isList(right) && equalLists(context, left, right)
  if (left instanceof Map) return right instanceof Map && equalMaps(context, left, right)
  if (left instanceof Uint8Array) {
    return right instanceof Uint8Array && compareBytes(context, left, right) === 0
  }
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanos === right.nanos
  if (left instanceof Duration) return right instanceof Duration && left.nanos === right.nanos
  if (left instanceof TypeValue) return right instanceof TypeValue && left.name === right.name
  if (left instanceof Optional) return right instanceof Optional && equalOptionals(context, left, right)
  if (left instanceof Struct) return right instanceof Struct && equalStructs(context, left, right)
  return left instanceof Opaque && right instanceof Opaque && left.content === right.content
}

function equalLists(context: CallContext, left: readonly Value[], right: readonly Value[]): boolean {
  if (left.length !== right.length) return false
  context.charge(1 + left.length)
  return left.every((element, index) => equal(context, element, right[index]!))
}

function equalMaps(context: CallContext, left: MapValue, right: MapValue): boolean {
  if (left.size !== right.size) return false
  context.charge(1 + left.size)
  for (const [key, value] of left) {
    const other = right.get(key)
    if (other === undefined || !equal(context, value, other)) return false
  }
  return true
}

function equalOptionals(context: CallContext, left: Optional, right: Optional): boolean {
  if (left.value === undefined || right.value === undefined) return left.value === right.value
  return equal(context, left.value, right.value)
}

function equalStructs(context: CallContext, left: Struct, right: Struct): boolean {
  if (left.shape !== right.shape) return false
  if (left.source === right.source) return true
  const names = Object.keys(left.shape.fields)
  context.charge(1 + names.length)
  return names.every((name) => {
    const [one, other] = [left.get(name), right.get(name)]
    return one === undefined || other === undefined ? one === other : equal(context, one, other)
  })
}

type Numeric = Int | Double | Uint

function isNumber(value: Value): value is Numeric {
  return isInt(value) || value instanceof Double || value instanceof Uint
}

const unwrap = (value: Numeric): Int => (isInt(value) ? value : value.value)

/** Negative, zero or positive; NaN when one of them is NaN, which is neither equal, less nor greater. */
export function compareNumbers(left: Numeric, right: Numeric): number {
  // An integer becomes a double to be compared with one, even if it loses digits.
  const lossy = left instanceof Double || right instanceof Double
  const one = lossy ? Number(unwrap(left)) : unwrap(left)
  const other = lossy ? Number(unwrap(right)) : unwrap(right)
  if (one < other) return -1
  // biome-ignore lint/suspicious/noDoubleEquals: a number and a bigint of the same value are only loosely equal
  return one > other ? 1 : one == other ? 0 : Number.NaN
}

/** Orders two values of one ordered type; undefined when they have no order. */
export function compare(context: CallContext, left: Value, right: Value): number | undefined {
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right)
  if (typeof left === 'string' && typeof right === 'string') return compareStrings(context, left, right)
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right)
  if (left instanceof Timestamp && right instanceof Timestamp) return compareNumbers(left.nanos, right.nanos)
  if (left instanceof Duration && right instanceof Duration) return compareNumbers(left.nanos, right.nanos)
  if (left instanceof Uint8Array && right instanceof Uint8Array) return compareBytes(context, left, right)
  return undefined
}

// By code points: UTF-16 puts the pairs of the upper planes before U+E000.
function compareStrings(context: CallContext, left: string, right: string): number {
  chargeLength(context, Math.min(left.length, right.length))
  if (left === right) return 0
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) {
    const [one, other] = [left.charCodeAt(index), right.charCodeAt(index)]
    if (one === other) continue
    const [oneHigh, otherHigh] = [isSurrogate(one), isSurrogate(other)]
    if (oneHigh !== otherHigh) return oneHigh ? 1 : -1
    return one - other
  }
  return left.length - right.length
}

const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff

function compareBytes(context: CallContext, left: Uint8Array, right: Uint8Array): number {
  chargeLength(context, Math.min(left.length, right.length))
  return Buffer.compare(left, right)
}

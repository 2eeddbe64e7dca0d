import { chargeLength } from '../compare.ts'
import type { CallContext } from '../overload.ts'
import { overload } from '../signature.ts'
import { durationText, timestampText } from '../time.ts'
import {
  Double,
  Duration,
  EvaluationError,
  isInt,
  isList,
  keysOf,
  lookUp,
  Timestamp,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from '../values.ts'
import { decodeUtf8, doubleText } from './conversions.ts'

const CLAUSE = /%(?:(%)|(?:\.(\d+))?([a-zA-Z])|.?)/gs
const DEFAULT_PRECISION = 6
const MAX_PRECISION = 100
/** Writing a very small or large double exactly takes about this many steps. */
const FIXED_COST = 300

type Clause = (context: CallContext, value: Value, precision: number) => string

const CLAUSES: Readonly<Record<string, Clause>> = {
  s: (context, value) => displayText(context, value),
  d: (_context, value) => {
    if (isInt(value)) return String(value)
    if (value instanceof Uint) return String(value.value)
    if (value instanceof Double)
      return Number.isFinite(value.value) ? doubleText(value.value) : infinite(value)
    throw wrongType('decimal', 'integers', value)
  },
  f: (context, value, precision) => {
    context.charge(FIXED_COST)
    return fixedText(numberOf(value, 'fixed-point'), precision)
  },
  e: (_context, value, precision) => {
    const number = numberOf(value, 'scientific')
    if (!Number.isFinite(number)) return String(number)
    return number.toExponential(precision).replace(/e([+-])(\d)$/, 'e$10$2')
  },
  b: (_context, value) =>
    typeof value === 'boolean' ? String(Number(value)) : integerOf(value, 'binary').toString(2),
  o: (_context, value) => integerOf(value, 'octal').toString(8),
  x: (context, value) => hexadecimal(context, value),
  X: (context, value) => hexadecimal(context, value).toUpperCase(),
}

function formatText(context: CallContext, template: string, values: readonly Value[]): string {
  chargeLength(context, template.length)
  let next = 0
  const text = template.replace(CLAUSE, (clause, percent?: string, precision?: string, letter?: string) => {
    if (percent !== undefined) return '%'
    const write = letter === undefined || !Object.hasOwn(CLAUSES, letter) ? undefined : CLAUSES[letter]
    if (write === undefined) throw new EvaluationError(`unrecognized formatting clause ${clause}`)
    if (next >= values.length) throw new EvaluationError(`index ${next} out of range`)
    const digits = precision === undefined ? DEFAULT_PRECISION : Number(precision)
    if (digits > MAX_PRECISION) throw new EvaluationError(`a precision may be ${MAX_PRECISION} at most`)
    context.charge(1)
    return write(context, values[next++]!, digits)
  })
  chargeLength(context, text.length)
  return text
}

/** A value as `%s` shows it. */
function displayText(context: CallContext, value: Value): string {
  context.charge(1)
  if (typeof value === 'string') {
    chargeLength(context, value.length)
    return value
  }
  if (value === null || typeof value === 'boolean' || isInt(value)) return String(value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Double) return Number.isFinite(value.value) ? doubleText(value.value) : infinite(value)
  if (value instanceof Uint8Array) {
    chargeLength(context, value.length)
    return decodeUtf8(value)
  }
  if (value instanceof Timestamp) return timestampText(value)
  if (value instanceof Duration) return durationText(value)
  if (value instanceof TypeValue) return value.name
  if (isList(value)) return `[${value.map((element) => displayText(context, element)).join(', ')}]`
  if (value instanceof Map) {
    const entries = keysOf(value).map(
      (key) => `${displayText(context, key)}: ${displayText(context, lookUp(value, key)!)}`,
    )
    return `{${entries.sort().join(', ')}}`
  }
  throw wrongType('string', 'strings, numbers, times, lists and maps', value)
}

const infinite = ({ value }: Double) => String(value)

function numberOf(value: Value, clause: string): number {
  if (value instanceof Double) return value.value
  if (isInt(value)) return Number(value)
  if (value instanceof Uint) return Number(value.value)
  throw wrongType(clause, 'doubles', value)
}

function integerOf(value: Value, clause: string): bigint {
  if (isInt(value)) return BigInt(value)
  if (value instanceof Uint) return value.value
  throw wrongType(clause, 'integers', value)
}

function hexadecimal(context: CallContext, value: Value): string {
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) return integerOf(value, 'hex').toString(16)
  chargeLength(context, value.length)
  return Buffer.from(value as string).toString('hex')
}

const wrongType = (clause: string, types: string, value: Value) =>
  new EvaluationError(`${clause} clause can only be used on ${types}, was given ${typeName(value)}`)

// `toFixed` rounds 2.5 up, where the language rounds to even: only exact halves differ, and those are found exactly.
function fixedText(value: number, precision: number): string {
  if (!Number.isFinite(value)) return String(value)
  const [mantissa, exponent] = decompose(Math.abs(value))
  const scaled = mantissa * 10n ** BigInt(precision)
  const digits = exponent >= 0 ? scaled << BigInt(exponent) : roundHalfEven(scaled, 1n << BigInt(-exponent))
  const text = String(digits).padStart(precision + 1, '0')
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  if (precision === 0) return sign + text
  return `${sign}${text.slice(0, -precision)}.${text.slice(-precision)}`
}

/** A double as a whole number times a power of two. */
function decompose(value: number): [mantissa: bigint, exponent: number] {
  if (Number.isInteger(value)) return [BigInt(value), 0]
  let exponent = 0
  let mantissa = value
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2
    exponent--
  }
  return [BigInt(mantissa), exponent]
}

function roundHalfEven(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  const twice = (value % divisor) * 2n
  return twice > divisor || (twice === divisor && quotient % 2n === 1n) ? quotient + 1n : quotient
}

/** `format`, with the clauses of cel-go. */
export const format = [overload('string.format(list(dyn)) -> string', formatText)]

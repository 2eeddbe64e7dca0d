import { chargeLength } from '../compare.ts'
import type { CallContext } from '../overload.ts'
import { overload } from '../signature.ts'
import {
  durationText,
  floorDivide,
  NANOS,
  parseDuration,
  parseTimestamp,
  timestampText,
  toTimestamp,
} from '../time.ts'
import {
  Double,
  type Duration,
  EvaluationError,
  type Int,
  int,
  type Timestamp,
  TypeValue,
  typeName,
  type Uint,
  uint,
  type Value,
} from '../values.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes bytes. Throws `EvaluationError` when they are not valid UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new EvaluationError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

/** The shortest text that reads as the same double. */
export function doubleText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value).replace(/e([+-])(\d)$/, 'e$10$2')
}

const MAX_NUMBER_TEXT = 400

function parseDouble(text: string): Double {
  if (text.length <= MAX_NUMBER_TEXT) {
    if (/^[+-]?(?:inf|infinity)$/i.test(text)) {
      return new Double(text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY)
    }
    if (/^nan$/i.test(text)) return new Double(Number.NaN)
    if (/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return new Double(Number(text))
  }
  throw new EvaluationError(`${JSON.stringify(text.slice(0, 80))} is not a double`)
}

function parseInteger(text: string, pattern: RegExp, type: string): bigint {
  if (text.length <= MAX_NUMBER_TEXT && pattern.test(text)) return BigInt(text)
  throw new EvaluationError(`${JSON.stringify(text.slice(0, 80))} is not ${type}`)
}

function truncate({ value }: Double): bigint {
  if (!Number.isFinite(value)) throw new EvaluationError('range error: the double is not finite')
  return BigInt(Math.trunc(value))
}

// The doubles nearest to the ends of the range stand for values beyond them.
function doubleToInt(double: Double): Int {
  if (Math.abs(double.value) >= 2 ** 63) throw new EvaluationError('range error: integer overflow')
  return int(truncate(double))
}

const TRUE_TEXTS = ['1', 't', 'T', 'true', 'TRUE', 'True']
const FALSE_TEXTS = ['0', 'f', 'F', 'false', 'FALSE', 'False']

function parseBool(text: string): boolean {
  if (TRUE_TEXTS.includes(text)) return true
  if (FALSE_TEXTS.includes(text)) return false
  throw new EvaluationError(`${JSON.stringify(text.slice(0, 80))} is not a bool`)
}

/** Reading a time takes about this many steps. */
const PARSE_COST = 60

const charged = (parse: (text: string) => Value) => (context: CallContext, text: string) => {
  context.charge(PARSE_COST)
  return parse(text)
}

/** A literal is read once, when the expression is compiled. */
const once =
  (parse: (text: string) => Value) =>
  ([text]: readonly (Value | undefined)[]) => {
    if (typeof text !== 'string') return undefined
    const value = parse(text)
    return () => value
  }

const identity = (type: string) => overload(`${type}(${type}) -> ${type}`, (_context, value: Value) => value)

/** Conversions between types, and `type` and `dyn`. */
export const conversions = [
  ...['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'].map(identity),
  overload('int(uint) -> int', (_context, { value }: Uint) => int(value)),
  overload('int(double) -> int', (_context, value: Double) => doubleToInt(value)),
  overload('int(string) -> int', (_context, text: string) => int(parseInteger(text, /^[+-]?\d+$/, 'an int'))),
  overload('int(timestamp) -> int', (_context, { nanos }: Timestamp) => int(floorDivide(nanos, NANOS))),
  overload('uint(int) -> uint', (_context, value: Int) => uint(BigInt(value))),
  overload('uint(double) -> uint', (_context, value: Double) => uint(truncate(value))),
  overload('uint(string) -> uint', (_context, text: string) => uint(parseInteger(text, /^\d+$/, 'a uint'))),
  overload('double(int) -> double', (_context, value: Int) => new Double(Number(value))),
  overload('double(uint) -> double', (_context, { value }: Uint) => new Double(Number(value))),
  overload('double(string) -> double', (_context, text: string) => parseDouble(text)),
  overload('string(bool) -> string', (_context, value: boolean) => String(value)),
  overload('string(int) -> string', (_context, value: Int) => String(value)),
  overload('string(uint) -> string', (_context, { value }: Uint) => String(value)),
  overload('string(double) -> string', (_context, { value }: Double) => doubleText(value)),
  overload('string(bytes) -> string', (context, bytes: Uint8Array) => {
    chargeLength(context, bytes.length)
    return decodeUtf8(bytes)
  }),
  overload('string(timestamp) -> string', (_context, time: Timestamp) => timestampText(time)),
  overload('string(duration) -> string', (_context, span: Duration) => durationText(span)),
  overload('bytes(string) -> bytes', (context, text: string) => {
    chargeLength(context, text.length)
    return new Uint8Array(Buffer.from(text))
  }),
  overload('bool(string) -> bool', (_context, text: string) => parseBool(text)),
  overload('timestamp(string) -> timestamp', charged(parseTimestamp), once(parseTimestamp)),
  overload('timestamp(int) -> timestamp', (_context, seconds: Int) => toTimestamp(BigInt(seconds) * NANOS)),
  overload('duration(string) -> duration', charged(parseDuration), once(parseDuration)),
  overload('dyn(A) -> dyn', (_context, value: Value) => value),
  overload('type(A) -> type(A)', (_context, value: Value) => new TypeValue(typeName(value))),
]

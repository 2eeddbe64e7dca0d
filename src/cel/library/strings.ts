import { type ChargeSteps, compileLinearRegex, type LinearRegex } from '../../base/pattern/linear-pattern.ts'
import { pointCount, pointIndex, pointSlice, unitIndex } from '../code-points.ts'
import { chargeLength } from '../compare.ts'
import type { CallContext } from '../overload.ts'
import { overload } from '../signature.ts'
import { CostExceeded, EvaluationError, type Int, type MapValue, typeName, type Value } from '../values.ts'

/** What a search takes before its first step. */
const SEARCH_COST = 10

/** Steps of a search are short. */
const STEPS_PER_UNIT = 2

/** What looking at each character takes, instead of copying all. */
const CHARACTER_COST = 8

/** Charged before work on a text, so that none begins that the budget does not cover. */
const charged =
  <A extends unknown[], R>(run: (text: string, ...args: A) => R, cost = 1) =>
  (context: CallContext, text: string, ...args: A): R => {
    chargeLength(context, text.length * cost)
    return run(text, ...args)
  }

function matches(context: CallContext, text: string, pattern: string): boolean {
  return matchesRegex(compilePattern(pattern, chargeSteps(context)))(context, text)
}

const matchesRegex = (regex: LinearRegex) => (context: CallContext, text: string) => {
  context.charge(SEARCH_COST)
  return regex.test(text, chargeSteps(context))
}

const chargeSteps =
  (context: CallContext): ChargeSteps =>
  (steps) =>
    context.charge(steps / STEPS_PER_UNIT)

const matchesLiteral = ([, pattern]: readonly unknown[]) =>
  typeof pattern === 'string' ? matchesRegex(compilePattern(pattern)) : undefined

/** The engine looks at a text up to this often to find a long part in it. */
const MAX_LOOKS = 256

/** Charges for finding a part: the engine's search is not linear in the worst case. */
function chargeSearch(context: CallContext, text: string, part: string): void {
  chargeLength(context, (text.length * Math.min(part.length, MAX_LOOKS)) / 4)
}

const searched =
  <A extends unknown[], R>(run: (text: string, part: string, ...args: A) => R) =>
  (context: CallContext, text: string, part: string, ...args: A): R => {
    chargeLength(context, text.length)
    chargeSearch(context, text, part)
    return run(text, part, ...args)
  }

function compilePattern(pattern: string, charge?: ChargeSteps): LinearRegex {
  try {
    return compileLinearRegex(pattern, charge)
  } catch (error) {
    if (error instanceof CostExceeded) throw error
    throw new EvaluationError((error as Error).message)
  }
}

function indexIn(text: string, index: Int, what = 'index'): number {
  const number = Number(index)
  if (number < 0 || number > pointCount(text)) throw new EvaluationError(`${what} out of range: ${index}`)
  return number
}

function indexOf(text: string, part: string, from: Int = 0): number {
  return pointIndex(text, text.indexOf(part, unitIndex(text, indexIn(text, from))))
}

function lastIndexOf(text: string, part: string, from?: Int): number {
  const start = from === undefined ? undefined : unitIndex(text, indexIn(text, from))
  return pointIndex(text, text.lastIndexOf(part, start))
}

function substring(text: string, from: Int, to: Int = pointCount(text)): string {
  const [start, end] = [indexIn(text, from), indexIn(text, to)]
  if (start > end) throw new EvaluationError(`invalid substring range: ${from} is after ${to}`)
  return pointSlice(text, start, end)
}

function charAt(text: string, index: Int): string {
  const start = indexIn(text, index)
  return pointSlice(text, start, start + 1)
}

function replace(
  context: CallContext,
  text: string,
  part: string,
  replacement: string,
  limit: Int = -1,
): string {
  const count = Number(limit) < 0 ? Number.POSITIVE_INFINITY : Number(limit)
  chargeSearch(context, text, part)
  const pieces: string[] = []
  let start = 0
  for (let done = 0; done < count; done++) {
    // An empty part is found before every character and at the end.
    const from = part === '' && done > 0 ? start + pointWidth(text, start) : start
    const found = part === '' && from > text.length ? -1 : text.indexOf(part, from)
    if (found === -1 || (part === '' && done > 0 && from === start)) break
    chargeLength(context, replacement.length)
    pieces.push(text.slice(start, found), replacement)
    start = found + part.length
  }
  return pieces.join('') + text.slice(start)
}

const pointWidth = (text: string, index: number) => ((text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1)

function split(context: CallContext, text: string, separator: string, limit: Int = -1): string[] {
  const count = Number(limit)
  context.charge(1 + text.length)
  chargeSearch(context, text, separator)
  if (count === 0) return []
  const all = separator === '' ? [...text] : text.split(separator)
  if (count < 0 || all.length <= count) return all
  return [...all.slice(0, count - 1), all.slice(count - 1).join(separator)]
}

function join(context: CallContext, list: readonly Value[], separator = ''): string {
  let length = 0
  for (const element of list) {
    if (typeof element !== 'string')
      throw new EvaluationError(`no such overload: join of ${typeName(element)}, not string`)
    length += element.length + separator.length
  }
  context.charge(1 + list.length)
  chargeLength(context, length)
  return list.join(separator)
}

const SPACE = /[\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

function trim(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && SPACE.test(text[start]!)) start++
  while (end > start && SPACE.test(text[end - 1]!)) end--
  return text.slice(start, end)
}

const QUOTED: ReadonlyMap<string, string> = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
])

const quote = (text: string) =>
  `"${text.toWellFormed().replace(/[\x07\b\f\n\r\t\v\\"]/g, (character) => QUOTED.get(character)!)}"`

// Other characters are rare, and leaving them as they are takes long.
const changedAscii =
  (letters: RegExp, change: (text: string) => string) => (context: CallContext, text: string) => {
    chargeLength(context, text.length)
    if (/^[\0-\x7f]*$/.test(text)) return change(text)
    chargeLength(context, text.length * 2 * CHARACTER_COST)
    return text.replace(letters, change)
  }

/** Functions on strings, those of cel-go's extension among them. */
export const strings = [
  overload('size(string) -> int', charged(pointCount)),
  overload('string.size() -> int', charged(pointCount)),
  ...['size(bytes) -> int', 'bytes.size() -> int'].map((signature) =>
    overload(signature, (_context, bytes: Uint8Array) => bytes.length),
  ),
  ...['size(list(A)) -> int', 'list(A).size() -> int'].map((signature) =>
    overload(signature, (_context, list: readonly Value[]) => list.length),
  ),
  ...['size(map(A, B)) -> int', 'map(A, B).size() -> int'].map((signature) =>
    overload(signature, (_context, map: MapValue) => map.size),
  ),
  overload('string.startsWith(string) -> bool', (context, text: string, part: string) => {
    chargeLength(context, part.length)
    return text.startsWith(part)
  }),
  overload('string.endsWith(string) -> bool', (context, text: string, part: string) => {
    chargeLength(context, part.length)
    return text.endsWith(part)
  }),
  overload(
    'string.contains(string) -> bool',
    searched((text, part) => text.includes(part)),
  ),
  overload('string.matches(string) -> bool', matches, matchesLiteral),
  overload('matches(string, string) -> bool', matches, matchesLiteral),
  overload('string.charAt(int) -> string', charged(charAt, 2)),
  overload('string.indexOf(string) -> int', searched(indexOf)),
  overload('string.indexOf(string, int) -> int', searched(indexOf)),
  overload('string.lastIndexOf(string) -> int', searched(lastIndexOf)),
  overload('string.lastIndexOf(string, int) -> int', searched(lastIndexOf)),
  overload('string.substring(int) -> string', charged(substring, 2)),
  overload('string.substring(int, int) -> string', charged(substring, 2)),
  overload('string.replace(string, string) -> string', replace),
  overload('string.replace(string, string, int) -> string', replace),
  overload('string.split(string) -> list(string)', split),
  overload('string.split(string, int) -> list(string)', split),
  overload('list(string).join() -> string', join),
  overload('list(string).join(string) -> string', join),
  overload('string.trim() -> string', charged(trim, CHARACTER_COST)),
  overload(
    'string.reverse() -> string',
    charged((text: string) => [...text].reverse().join(''), CHARACTER_COST),
  ),
  overload(
    'string.lowerAscii() -> string',
    changedAscii(/[A-Z]+/g, (text) => text.toLowerCase()),
  ),
  overload(
    'string.upperAscii() -> string',
    changedAscii(/[a-z]+/g, (text) => text.toUpperCase()),
  ),
  overload('strings.quote(string) -> string', charged(quote, CHARACTER_COST)),
]

/** Whether a character, given by its code point, belongs to a set. */
export type Accepts = (code: number) => boolean

/** The first and the last code point of a range. */
export type Range = readonly [first: number, last: number]

/** A set of characters. */
export interface CharSet {
  readonly accepts: Accepts
  /** What it takes to look a character up, in steps of a search beyond the one of reaching it. */
  readonly cost: number
}

/** What is written between `[` and `]`, or one class. */
export interface SetMembers {
  readonly ranges: readonly Range[]
  /** Classes of Unicode. */
  readonly properties: readonly Accepts[]
}

const MAX_CODE = 0x10ffff
const ASCII_SIZE = 128

/** Looking a character up in a property is a call of the built-in engine, for each of its spellings when case is ignored. */
const PROPERTY_COST = 4

/** The ranges of pairs of characters. */
const rangesOf = (pairs: string): Range[] =>
  Array.from({ length: pairs.length / 2 }, (_, n) => [pairs.charCodeAt(2 * n), pairs.charCodeAt(2 * n + 1)])

/** The classes of Perl and POSIX, which are ASCII in RE2. */
export const ASCII_CLASSES: ReadonlyMap<string, readonly Range[]> = new Map(
  Object.entries({
    d: '09',
    s: '\t\n\f\r  ',
    w: '09AZ__az',
    alnum: '09AZaz',
    alpha: 'AZaz',
    ascii: '\x00\x7f',
    blank: '\t\t  ',
    cntrl: '\x00\x1f\x7f\x7f',
    digit: '09',
    graph: '!~',
    lower: 'az',
    print: ' ~',
    punct: '!/:@[`{~',
    space: '\t\r  ',
    upper: 'AZ',
    word: '09AZ__az',
    xdigit: '09AFaf',
  }).map(([name, pairs]) => [name, rangesOf(pairs)]),
)

/** The same ASCII characters with their other cases, or all characters but those. */
export function asciiClass(ranges: readonly Range[], ignoreCase: boolean, negated: boolean): Range[] {
  const folded = ignoreCase ? ranges.flatMap((range) => [range, ...otherCasesIn(range)]) : [...ranges]
  return negated ? complement(merge(folded)) : folded
}

function otherCasesIn([first, last]: Range): Range[] {
  const codes = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  return codes.flatMap(otherCases).map((code) => [code, code])
}

const properties = new Map<string, RegExp>()

/** The characters of a general category or a script; undefined when there is no such class. */
export function unicodeClass(name: string, ignoreCase: boolean, negated: boolean): Accepts | undefined {
  const pattern = properties.get(name) ?? propertyPattern(name)
  if (pattern === undefined) return undefined
  properties.set(name, pattern)
  const has: Accepts = (code) => pattern.test(String.fromCodePoint(code))
  const accepts = ignoreCase ? ignoringCase(has) : has
  return negated ? (code) => !accepts(code) : accepts
}

function propertyPattern(name: string): RegExp | undefined {
  for (const property of [name, `Script=${name}`]) {
    try {
      return new RegExp(`^\\p{${property}}$`, 'u')
    } catch {
      // Not the name of such a property.
    }
  }
  return undefined
}

/** The set of these members, or of all other characters. */
export function charSet(members: SetMembers, ignoreCase = false, negated = false): CharSet {
  const { properties } = members
  const bounds = Int32Array.from(merge(members.ranges).flatMap(([first, last]) => [first, last + 1]))
  const inRanges: Accepts = (code) => isInside(bounds, code)
  const inFolded = ignoreCase ? ignoringCase(inRanges) : inRanges
  const has: Accepts = (code) => (inFolded(code) || properties.some((accepts) => accepts(code))) !== negated
  return {
    accepts: rememberingAscii(has),
    cost: properties.length * (ignoreCase ? 2 * PROPERTY_COST : PROPERTY_COST),
  }
}

/** One character, or its spellings. */
export function literalSet(code: number, ignoreCase: boolean): CharSet {
  const [other, ...more] = ignoreCase ? otherCases(code) : []
  if (more.length > 0)
    return charSet({ ranges: [code, other!, ...more].map((one) => [one, one]), properties: [] })
  return {
    accepts: other === undefined ? (one) => one === code : (one) => one === code || one === other,
    cost: 0,
  }
}

const ignoringCase =
  (accepts: Accepts): Accepts =>
  (code) =>
    accepts(code) || otherCases(code).some(accepts)

/** Most characters of most texts are ASCII. */
function rememberingAscii(accepts: Accepts): Accepts {
  const known = new Uint8Array(ASCII_SIZE)
  return (code) => {
    if (code >= ASCII_SIZE) return accepts(code)
    known[code] ||= accepts(code) ? 1 : 2
    return known[code] === 1
  }
}

/** Sorted, without overlaps. */
function merge(ranges: readonly Range[]): Range[] {
  const merged: Range[] = []
  for (const [first, last] of ranges.toSorted(([one], [other]) => one - other)) {
    const previous = merged.at(-1)
    if (previous === undefined || first > previous[1] + 1) merged.push([first, last])
    else if (last > previous[1]) merged[merged.length - 1] = [previous[0], last]
  }
  return merged
}

function complement(ranges: readonly Range[]): Range[] {
  const starts = [0, ...ranges.map(([, last]) => last + 1)]
  const ends = [...ranges.map(([first]) => first - 1), MAX_CODE]
  return starts.map((start, index): Range => [start, ends[index]!]).filter(([start, end]) => start <= end)
}

/** Whether a code is in one of the ranges, of which `bounds` has the first codes and, each followed by one, the last. */
function isInside(bounds: Int32Array, code: number): boolean {
  let low = 0
  let high = bounds.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (bounds[middle]! <= code) low = middle + 1
    else high = middle
  }
  return low % 2 === 1
}

const NONE: readonly number[] = []

/** The letters of ASCII that a letter beyond ASCII is a spelling of: the long s, and the sign for kelvin. */
const BEYOND_ASCII: Readonly<Record<string, number>> = { s: 0x17f, k: 0x212a }

const ASCII_CASES: readonly (readonly number[])[] = Array.from({ length: ASCII_SIZE }, (_, code) => {
  const character = String.fromCharCode(code)
  const lower = character.toLowerCase()
  const other = lower === character ? character.toUpperCase() : lower
  if (other === character) return NONE
  const beyond = BEYOND_ASCII[lower]
  return beyond === undefined ? [other.charCodeAt(0)] : [other.charCodeAt(0), beyond]
})

let cases: ReadonlyMap<number, readonly number[]> | undefined

/** The characters that differ from one by their case only: Unicode's simple case folding. */
function otherCases(code: number): readonly number[] {
  if (code < ASCII_SIZE) return ASCII_CASES[code]!
  cases ??= readCases()
  return cases.get(code) ?? NONE
}

/** Beyond this there are no letters with cases. */
const CASES_END = 0x20000
const CHUNK = 0x1000
const DOTLESS_I = 0x131

/** Takes about 10 ms, once in a process that ignores case in text beyond ASCII. */
function readCases(): ReadonlyMap<number, readonly number[]> {
  const groups = new Map<number, number[]>()
  for (let start = 0; start < CASES_END; start += CHUNK) {
    const chunk = String.fromCodePoint(...Array.from({ length: CHUNK }, (_, index) => start + index))
    for (const [character] of chunk.matchAll(/\p{Changes_When_Casemapped}/gu)) {
      const code = character.codePointAt(0)!
      const key = code === DOTLESS_I ? code : oneCode(oneCode(code, 'toUpperCase'), 'toLowerCase')
      groups.set(key, [...(groups.get(key) ?? []), code])
    }
  }
  return new Map(
    [...groups.values()].flatMap((group) =>
      group.map((code): [number, number[]] => [code, group.filter((other) => other !== code)]),
    ),
  )
}

/** The character in this case; itself when that takes several characters. */
function oneCode(code: number, convert: 'toUpperCase' | 'toLowerCase'): number {
  const converted = String.fromCodePoint(code)[convert]()
  const first = converted.codePointAt(0)!
  return String.fromCodePoint(first).length === converted.length ? first : code
}

import {
  type Accepts,
  ASCII_CLASSES,
  asciiClass,
  type CharSet,
  charSet,
  literalSet,
  type Range,
  type SetMembers,
  unicodeClass,
} from './linear-pattern-set.ts'

/** A parsed pattern. `nullable`: it can match nothing at all. */
export type PatternNode =
  | { readonly kind: 'empty'; readonly nullable: true }
  | { readonly kind: 'char'; readonly set: CharSet; readonly nullable: false }
  | { readonly kind: 'assert'; readonly holds: Holds; readonly nullable: true }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[]; readonly nullable: boolean }
  | { readonly kind: 'choice'; readonly options: readonly PatternNode[]; readonly nullable: boolean }
  | {
      readonly kind: 'repeat'
      readonly child: PatternNode
      readonly min: number
      readonly max: number
      readonly lazy: boolean
      readonly nullable: boolean
    }
  | {
      readonly kind: 'group'
      readonly index: number
      readonly child: PatternNode
      readonly nullable: boolean
    }

/** Whether an assertion is true at a position. */
export type Holds = (text: string, position: number) => boolean

export interface ParsedPattern {
  readonly node: PatternNode
  readonly groupCount: number
  readonly groupNames: ReadonlyMap<string, number>
}

/** Bounds the work of parsing. */
const MAX_PATTERN_LENGTH = 32_768
const MAX_REPEAT = 1000
const MAX_DEPTH = 50
const MAX_CODE = 0x10ffff

const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, a: 7 }

const EMPTY: PatternNode = { kind: 'empty', nullable: true }
const ANY: CharSet = { accepts: () => true, cost: 0 }
const ANY_IN_LINE: CharSet = { accepts: (code) => code !== 10, cost: 0 }

const charNode = (set: CharSet): PatternNode => ({ kind: 'char', set, nullable: false })
const assertion = (holds: Holds): PatternNode => ({ kind: 'assert', holds, nullable: true })

const sequence = (parts: readonly PatternNode[]): PatternNode => ({
  kind: 'sequence',
  parts,
  nullable: parts.every(({ nullable }) => nullable),
})

/** Parses a pattern. Throws a sentence when it is invalid or cannot be matched in linear time. */
export function parsePattern(source: string): ParsedPattern {
  if (source.length > MAX_PATTERN_LENGTH)
    throw new Error(`the pattern is too long; it may have ${MAX_PATTERN_LENGTH} characters.`)
  return new Parser(source).parse()
}

/** NaN, before and after the text, is in no range. */
const isWord = (code: number) =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95

const isStart: Holds = (_text, position) => position === 0
const isEnd: Holds = (text, position) => position === text.length
const isLineStart: Holds = (text, position) => position === 0 || text[position - 1] === '\n'
const isLineEnd: Holds = (text, position) => position === text.length || text[position] === '\n'
const isWordBoundary: Holds = (text, position) =>
  isWord(text.charCodeAt(position - 1)) !== isWord(text.charCodeAt(position))
const isNoWordBoundary: Holds = (text, position) => !isWordBoundary(text, position)

/** What `(?imsU)` switches. */
interface Flags {
  readonly ignoreCase: boolean
  readonly multiLine: boolean
  readonly dotAll: boolean
  /** Exchanges the meanings of `*` and `*?`. */
  readonly lazy: boolean
}

class Parser {
  readonly #source: string
  #position = 0
  #depth = 0
  #flags: Flags = { ignoreCase: false, multiLine: false, dotAll: false, lazy: false }
  #groupCount = 0
  readonly #groupNames = new Map<string, number>()

  constructor(source: string) {
    this.#source = source
  }

  parse(): ParsedPattern {
    const node = this.#choice()
    if (this.#position < this.#source.length) throw this.#error('there is a ) without its (')
    return { node, groupCount: this.#groupCount, groupNames: this.#groupNames }
  }

  #choice(): PatternNode {
    if (++this.#depth > MAX_DEPTH) throw this.#error(`groups are nested more than ${MAX_DEPTH} deep`)
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#depth--
    if (options.length === 1) return options[0]!
    return { kind: 'choice', options, nullable: options.some(({ nullable }) => nullable) }
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = []
    while (this.#position < this.#source.length && !'|)'.includes(this.#peek()))
      parts.push(this.#repetition())
    return parts.length === 0 ? EMPTY : parts.length === 1 ? parts[0]! : sequence(parts)
  }

  #repetition(): PatternNode {
    const child = this.#atom()
    const range = this.#range()
    if (range === undefined) return child
    const lazy = this.#take('?') !== this.#flags.lazy
    if (this.#range() !== undefined) throw this.#error('a repetition is repeated')
    return { kind: 'repeat', child, ...range, lazy, nullable: child.nullable || range.min === 0 }
  }

  #range(): { min: number; max: number } | undefined {
    if (this.#take('*')) return { min: 0, max: Number.POSITIVE_INFINITY }
    if (this.#take('+')) return { min: 1, max: Number.POSITIVE_INFINITY }
    if (this.#take('?')) return { min: 0, max: 1 }
    const braces = /^\{(\d{1,4})(,(\d{1,4})?)?\}/.exec(
      this.#source.slice(this.#position, this.#position + 12),
    )
    if (braces === null) return undefined
    this.#position += braces[0].length
    const min = Number(braces[1])
    const open = braces[3] === undefined ? Number.POSITIVE_INFINITY : Number(braces[3])
    const max = braces[2] === undefined ? min : open
    if (min > MAX_REPEAT || (max !== Number.POSITIVE_INFINITY && max > MAX_REPEAT)) {
      throw this.#error(`nothing may be repeated more than ${MAX_REPEAT} times`)
    }
    if (max < min) throw this.#error('a repetition ends before it begins')
    return { min, max }
  }

  #atom(): PatternNode {
    const character = this.#next()
    switch (character) {
      case '.':
        return charNode(this.#flags.dotAll ? ANY : ANY_IN_LINE)
      case '^':
        return assertion(this.#flags.multiLine ? isLineStart : isStart)
      case '$':
        return assertion(this.#flags.multiLine ? isLineEnd : isEnd)
      case '(':
        return this.#group()
      case '[':
        return charNode(this.#set())
      case '\\':
        return this.#escape()
      case '*':
      case '+':
      case '?':
        throw this.#error(`there is nothing before ${character} to repeat`)
      default:
        return this.#literal(character.codePointAt(0)!)
    }
  }

  #group(): PatternNode {
    const outer = this.#flags
    const flags = /^\?([imsU]*)(?:-([imsU]+))?([:)])/.exec(
      this.#source.slice(this.#position, this.#position + 12),
    )
    let index: number | undefined
    if (flags !== null) {
      this.#position += flags[0].length
      this.#flags = withFlags(withFlags(this.#flags, flags[1]!, true), flags[2] ?? '', false)
      // (?i) applies until the end of its enclosing group.
      if (flags[3] === ')') return EMPTY
    } else {
      index = ++this.#groupCount
      if (this.#peek() === '?') this.#groupName(index)
    }
    const child = this.#choice()
    if (!this.#take(')')) throw this.#error('a ( has no )')
    this.#flags = outer
    return index === undefined ? child : { kind: 'group', index, child, nullable: child.nullable }
  }

  #groupName(index: number): void {
    const match = /^\?P?<([A-Za-z_]\w*)>/.exec(this.#source.slice(this.#position))
    if (match === null) throw this.#error('look-around cannot be matched in linear time')
    this.#position += match[0].length
    if (this.#groupNames.has(match[1]!)) throw this.#error(`there are two groups with the name ${match[1]}`)
    this.#groupNames.set(match[1]!, index)
  }

  #escape(): PatternNode {
    const character = this.#next()
    if (character === 'b') return assertion(isWordBoundary)
    if (character === 'B') return assertion(isNoWordBoundary)
    if (character === 'A') return assertion(isStart)
    if (character === 'z') return assertion(isEnd)
    if (character === 'Q') return this.#quotation()
    const members = this.#class(character)
    return members === undefined ? this.#literal(this.#escapedCode(character)) : charNode(charSet(members))
  }

  /** `\\Q…\\E`: what is between stands for itself. */
  #quotation(): PatternNode {
    const end = this.#source.indexOf('\\E', this.#position)
    const text = this.#source.slice(this.#position, end === -1 ? undefined : end)
    this.#position = end === -1 ? this.#source.length : end + 2
    return sequence(Array.from(text, (character) => this.#literal(character.codePointAt(0)!)))
  }

  /** The class of an escape such as `\\d` or `\\p{Greek}`; undefined when it is none. */
  #class(character: string): SetMembers | undefined {
    if (character !== 'p' && character !== 'P') {
      const name = character.toLowerCase()
      return 'dsw'.includes(name) ? this.#asciiClass(name, character !== name) : undefined
    }
    const match = /^(?:([A-Z])|\{(\^?)(\w+)\})/.exec(this.#source.slice(this.#position, this.#position + 40))
    if (match === null) throw this.#error('\\p needs the name of a class, such as \\p{Greek}')
    this.#position += match[0].length
    const negated = (character === 'P') !== (match[2] === '^')
    const accepts = unicodeClass(match[1] ?? match[3]!, this.#flags.ignoreCase, negated)
    if (accepts === undefined) throw this.#error(`there is no class ${match[0]}`)
    return { ranges: [], properties: [accepts] }
  }

  #asciiClass(name: string, negated: boolean): SetMembers | undefined {
    const ranges = ASCII_CLASSES.get(name)
    return ranges && { ranges: asciiClass(ranges, this.#flags.ignoreCase, negated), properties: [] }
  }

  /** The character code of an escape that is not a class. */
  #escapedCode(character: string): number {
    const control = CONTROLS[character]
    if (control !== undefined) return control
    if (character === 'x') return this.#hexadecimal()
    if (/[0-9]/.test(character)) return this.#octal(character)
    if (/[A-Za-z]/.test(character)) throw this.#error(`\\${character} is not known`)
    return character.codePointAt(0)!
  }

  /** The rest of `\\x41` or `\\x{1F600}`. */
  #hexadecimal(): number {
    const digits = /^(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,16})\})/.exec(
      this.#source.slice(this.#position, this.#position + 18),
    )
    if (digits === null) throw this.#error('\\x needs two hexadecimal digits')
    this.#position += digits[0].length
    const code = Number.parseInt(digits[1] ?? digits[2]!, 16)
    if (code > MAX_CODE) throw this.#error('\\x is beyond the last character')
    return code
  }

  /** The rest of `\\101` or `\\0`. */
  #octal(first: string): number {
    const [rest] = /^[0-7]{0,2}/.exec(this.#source.slice(this.#position, this.#position + 2))!
    if (first !== '0' && (first > '7' || rest === ''))
      throw this.#error('back-references cannot be matched in linear time')
    this.#position += rest.length
    return Number.parseInt(first + rest, 8)
  }

  #set(): CharSet {
    const negated = this.#take('^')
    const ranges: Range[] = []
    const properties: Accepts[] = []
    for (let isFirst = true; isFirst || this.#peek() !== ']'; isFirst = false) {
      const first = this.#member()
      if (typeof first !== 'number') {
        ranges.push(...first.ranges)
        properties.push(...first.properties)
        continue
      }
      let last: SetMembers | number = first
      if (this.#peek() === '-' && this.#source[this.#position + 1] !== ']') {
        this.#position++
        last = this.#member()
      }
      if (typeof last !== 'number' || last < first) throw this.#error('a range in [ ] ends before it begins')
      ranges.push([first, last])
    }
    this.#position++
    return charSet({ ranges, properties }, this.#flags.ignoreCase, negated)
  }

  #member(): SetMembers | number {
    const character = this.#next()
    if (character === '[' && this.#peek() === ':') return this.#namedSet()
    if (character !== '\\') return character.codePointAt(0)!
    const escaped = this.#next()
    return this.#class(escaped) ?? (escaped === 'b' ? 8 : this.#escapedCode(escaped))
  }

  /** `[:alpha:]` or `[:^alpha:]`, inside a set. */
  #namedSet(): SetMembers {
    const match = /^:(\^?)(\w{2,}):\]/.exec(this.#source.slice(this.#position, this.#position + 12))
    const members = match === null ? undefined : this.#asciiClass(match[2]!, match[1] === '^')
    if (match === null || members === undefined) throw this.#error('there is no such set in [: :]')
    this.#position += match[0].length
    return members
  }

  #literal(code: number): PatternNode {
    return charNode(literalSet(code, this.#flags.ignoreCase))
  }

  #peek(): string {
    return this.#source[this.#position] ?? ''
  }

  #next(): string {
    const code = this.#source.codePointAt(this.#position)
    if (code === undefined) throw this.#error('it ends too early')
    const character = String.fromCodePoint(code)
    this.#position += character.length
    return character
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false
    this.#position++
    return true
  }

  #error(why: string): Error {
    return new Error(`"${this.#source.slice(0, 80)}" cannot be used as a pattern: ${why}.`)
  }
}

function withFlags(flags: Flags, letters: string, value: boolean): Flags {
  return {
    ignoreCase: letters.includes('i') ? value : flags.ignoreCase,
    multiLine: letters.includes('m') ? value : flags.multiLine,
    dotAll: letters.includes('s') ? value : flags.dotAll,
    lazy: letters.includes('U') ? value : flags.lazy,
  }
}

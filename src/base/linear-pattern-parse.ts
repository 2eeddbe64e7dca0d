/** A parsed pattern. */
export type PatternNode =
  | { readonly kind: 'empty' }
  | { readonly kind: 'char'; readonly accepts: (code: number) => boolean }
  | { readonly kind: 'assert'; readonly holds: (text: string, position: number) => boolean }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly options: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly of: PatternNode; readonly min: number; readonly max: number }

type Accepts = (code: number) => boolean

const MAX_REPEAT = 1000
const MAX_DEPTH = 50

const isDigit: Accepts = (code) => code >= 48 && code <= 57
const isWord: Accepts = (code) =>
  isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95
const isSpace: Accepts = (code) => (code >= 9 && code <= 13) || code === 32

const CLASSES: Readonly<Record<string, Accepts>> = {
  d: isDigit,
  D: (code) => !isDigit(code),
  w: isWord,
  W: (code) => !isWord(code),
  s: isSpace,
  S: (code) => !isSpace(code),
}

const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, a: 7 }

const isWordBoundary = (text: string, position: number): boolean =>
  (position > 0 && isWord(text.charCodeAt(position - 1))) !==
  (position < text.length && isWord(text.charCodeAt(position)))

/** Parses a pattern. Throws a sentence when it is invalid or cannot be matched in linear time. */
export function parsePattern(source: string): PatternNode {
  return new Parser(source).parse()
}

class Parser {
  readonly #source: string
  #position = 0
  #depth = 0
  #ignoreCase = false

  constructor(source: string) {
    this.#source = source
  }

  parse(): PatternNode {
    const node = this.#choice()
    if (this.#position < this.#source.length) throw this.#error('there is a ) without its (')
    return node
  }

  #choice(): PatternNode {
    if (++this.#depth > MAX_DEPTH) throw this.#error(`groups are nested more than ${MAX_DEPTH} deep`)
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#depth--
    return options.length === 1 ? options[0]! : { kind: 'choice', options }
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = []
    while (this.#position < this.#source.length && !'|)'.includes(this.#peek()))
      parts.push(this.#repetition())
    return parts.length === 1
      ? parts[0]!
      : parts.length === 0
        ? { kind: 'empty' }
        : { kind: 'sequence', parts }
  }

  #repetition(): PatternNode {
    const of = this.#atom()
    const range = this.#range()
    if (range === undefined) return of
    // Laziness changes what is captured, never whether the pattern matches.
    this.#take('?')
    if (this.#range() !== undefined) throw this.#error('a repetition is repeated')
    return { kind: 'repeat', of, ...range }
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
        return { kind: 'char', accepts: (code) => code !== 10 }
      case '^':
        return { kind: 'assert', holds: (_text, position) => position === 0 }
      case '$':
        return { kind: 'assert', holds: (text, position) => position === text.length }
      case '(':
        return this.#group()
      case '[':
        return { kind: 'char', accepts: this.#set() }
      case '\\':
        return this.#escape()
      case '*':
      case '+':
      case '?':
        throw this.#error(`there is nothing before ${character} to repeat`)
      default:
        return this.#literal(character.charCodeAt(0))
    }
  }

  #group(): PatternNode {
    const outerIgnoreCase = this.#ignoreCase
    const flags = /^\?(i|-i)?([:)])/.exec(this.#source.slice(this.#position, this.#position + 4))
    if (flags !== null) {
      this.#position += flags[0].length
      if (flags[1] !== undefined) this.#ignoreCase = flags[1] === 'i'
      // (?i) applies until the end of its enclosing group.
      if (flags[2] === ')') return { kind: 'empty' }
    } else if (this.#peek() === '?') {
      const namedGroup = /^\?P?<[A-Za-z_]\w*>/.exec(this.#source.slice(this.#position))
      if (namedGroup === null) throw this.#error('look-around cannot be matched in linear time')
      this.#position += namedGroup[0].length
    }
    const node = this.#choice()
    if (!this.#take(')')) throw this.#error('a ( has no )')
    this.#ignoreCase = outerIgnoreCase
    return node
  }

  #escape(): PatternNode {
    const character = this.#next()
    if (character === 'b') return { kind: 'assert', holds: isWordBoundary }
    if (character === 'B')
      return { kind: 'assert', holds: (text, position) => !isWordBoundary(text, position) }
    if (character === 'A') return { kind: 'assert', holds: (_text, position) => position === 0 }
    if (character === 'z') return { kind: 'assert', holds: (text, position) => position === text.length }
    const charClass = CLASSES[character]
    return charClass === undefined
      ? this.#literal(this.#escapedCode(character))
      : { kind: 'char', accepts: charClass }
  }

  /** The character code of an escape that is not a class. */
  #escapedCode(character: string): number {
    const control = CONTROLS[character]
    if (control !== undefined) return control
    if (character === 'x') {
      const digits = /^[0-9a-fA-F]{2}/.exec(this.#source.slice(this.#position, this.#position + 2))
      if (digits === null) throw this.#error('\\x needs two hexadecimal digits')
      this.#position += 2
      return Number.parseInt(digits[0], 16)
    }
    if (/[0-9]/.test(character)) throw this.#error('back-references cannot be matched in linear time')
    if (/[A-Za-z]/.test(character)) throw this.#error(`\\${character} is not known`)
    return character.charCodeAt(0)
  }

  #set(): Accepts {
    const negated = this.#take('^')
    const parts: Accepts[] = []
    for (let first = true; first || this.#peek() !== ']'; first = false) {
      const from = this.#member()
      if (typeof from === 'function') {
        parts.push(from)
        continue
      }
      if (this.#peek() !== '-' || this.#source[this.#position + 1] === ']') {
        parts.push(this.#fold((code) => code === from))
        continue
      }
      this.#position++
      const to = this.#member()
      if (typeof to === 'function' || to < from) throw this.#error('a range in [ ] ends before it begins')
      parts.push(this.#fold((code) => code >= from && code <= to))
    }
    this.#position++
    const accepts: Accepts = (code) => parts.some((part) => part(code))
    return negated ? (code) => !accepts(code) : accepts
  }

  #member(): Accepts | number {
    const character = this.#next()
    if (character === '[' && this.#peek() === ':')
      throw this.#error('named sets such as [:alpha:] are not known')
    if (character !== '\\') return character.charCodeAt(0)
    const escaped = this.#next()
    return CLASSES[escaped] ?? (escaped === 'b' ? 8 : this.#escapedCode(escaped))
  }

  #literal(expected: number): PatternNode {
    return { kind: 'char', accepts: this.#fold((code) => code === expected) }
  }

  #fold(accepts: Accepts): Accepts {
    if (!this.#ignoreCase) return accepts
    return (code) => accepts(code) || accepts(otherCase(code))
  }

  #peek(): string {
    return this.#source[this.#position] ?? ''
  }

  #next(): string {
    const character = this.#source[this.#position++]
    if (character === undefined) throw this.#error('it ends too early')
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

function otherCase(code: number): number {
  if (code >= 65 && code <= 90) return code + 32
  return code >= 97 && code <= 122 ? code - 32 : code
}

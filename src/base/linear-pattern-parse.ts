/** A parsed pattern. */
export type PatternNode =
  | { readonly kind: 'empty' }
  | { readonly kind: 'char'; readonly accepts: (code: number) => boolean }
  | { readonly kind: 'assert'; readonly holds: (text: string, position: number) => boolean }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly options: readonly PatternNode[] }
  | {
      readonly kind: 'repeat'
      readonly child: PatternNode
      readonly min: number
      readonly max: number
      readonly lazy: boolean
    }
  | { readonly kind: 'group'; readonly index: number; readonly child: PatternNode }

export interface ParsedPattern {
  readonly node: PatternNode
  readonly groupCount: number
  readonly groupNames: ReadonlyMap<string, number>
}

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
export function parsePattern(source: string): ParsedPattern {
  return new Parser(source).parse()
}

const isStart = (_text: string, position: number) => position === 0
const isEnd = (text: string, position: number) => position === text.length
const isLineStart = (text: string, position: number) => position === 0 || text[position - 1] === '\n'
const isLineEnd = (text: string, position: number) => position === text.length || text[position] === '\n'

const NAMED_SETS: Readonly<Record<string, RegExp>> = {
  alnum: /[0-9A-Za-z]/,
  alpha: /[A-Za-z]/,
  ascii: /[\x00-\x7f]/,
  blank: /[\t ]/,
  cntrl: /[\x00-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[\t\n\v\f\r ]/,
  upper: /[A-Z]/,
  word: /\w/,
  xdigit: /[0-9A-Fa-f]/,
}

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
    const child = this.#atom()
    const range = this.#range()
    if (range === undefined) return child
    const lazy = this.#take('?') !== this.#flags.lazy
    if (this.#range() !== undefined) throw this.#error('a repetition is repeated')
    return { kind: 'repeat', child, ...range, lazy }
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
        return { kind: 'char', accepts: this.#flags.dotAll ? () => true : (code) => code !== 10 }
      case '^':
        return { kind: 'assert', holds: this.#flags.multiLine ? isLineStart : isStart }
      case '$':
        return { kind: 'assert', holds: this.#flags.multiLine ? isLineEnd : isEnd }
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
      if (flags[3] === ')') return { kind: 'empty' }
    } else {
      index = ++this.#groupCount
      if (this.#peek() === '?') this.#groupName(index)
    }
    const child = this.#choice()
    if (!this.#take(')')) throw this.#error('a ( has no )')
    this.#flags = outer
    return index === undefined ? child : { kind: 'group', index, child }
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
    if (character === 'b') return { kind: 'assert', holds: isWordBoundary }
    if (character === 'B')
      return { kind: 'assert', holds: (text, position) => !isWordBoundary(text, position) }
    if (character === 'A') return { kind: 'assert', holds: isStart }
    if (character === 'z') return { kind: 'assert', holds: isEnd }
    if (character === 'Q') return this.#quotation()
    const charClass = this.#class(character)
    return charClass === undefined
      ? this.#literal(this.#escapedCode(character))
      : { kind: 'char', accepts: charClass }
  }

  /** `\\Q…\\E`: what is between stands for itself. */
  #quotation(): PatternNode {
    const end = this.#source.indexOf('\\E', this.#position)
    const text = this.#source.slice(this.#position, end === -1 ? undefined : end)
    this.#position = end === -1 ? this.#source.length : end + 2
    return { kind: 'sequence', parts: [...text].map((character) => this.#literal(character.codePointAt(0)!)) }
  }

  /** The class of an escape such as `\\d` or `\\p{Greek}`; undefined when it is none. */
  #class(character: string): Accepts | undefined {
    if (character !== 'p' && character !== 'P') return CLASSES[character]
    const match = /^(?:([A-Z])|\{(\^?)(\w+)\})/.exec(this.#source.slice(this.#position, this.#position + 40))
    if (match === null) throw this.#error('\\p needs the name of a class, such as \\p{Greek}')
    this.#position += match[0].length
    const accepts = unicodeClass(match[1] ?? match[3]!)
    if (accepts === undefined) throw this.#error(`there is no class ${match[0]}`)
    return (character === 'P') !== (match[2] === '^') ? (code) => !accepts(code) : accepts
  }

  /** The character code of an escape that is not a class. */
  #escapedCode(character: string): number {
    const control = CONTROLS[character]
    if (control !== undefined) return control
    if (character === 'x') {
      const digits = /^(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/.exec(
        this.#source.slice(this.#position, this.#position + 8),
      )
      if (digits === null) throw this.#error('\\x needs two hexadecimal digits')
      this.#position += digits[0].length
      return Number.parseInt(digits[1] ?? digits[2]!, 16)
    }
    if (/[0-9]/.test(character)) throw this.#error('back-references cannot be matched in linear time')
    if (/[A-Za-z]/.test(character)) throw this.#error(`\\${character} is not known`)
    return character.codePointAt(0)!
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
    if (character === '[' && this.#peek() === ':') return this.#namedSet()
    if (character !== '\\') return character.codePointAt(0)!
    const escaped = this.#next()
    return this.#class(escaped) ?? (escaped === 'b' ? 8 : this.#escapedCode(escaped))
  }

  /** `[:alpha:]` or `[:^alpha:]`, inside a set. */
  #namedSet(): Accepts {
    const match = /^:(\^?)(\w+):\]/.exec(this.#source.slice(this.#position, this.#position + 12))
    const characters = match === null ? undefined : NAMED_SETS[match[2]!]
    if (match === null || characters === undefined) throw this.#error('there is no such set in [: :]')
    this.#position += match[0].length
    const accepts: Accepts = (code) => code < 128 && characters.test(String.fromCharCode(code))
    return match[1] === '^' ? (code) => !accepts(code) : accepts
  }

  #literal(expected: number): PatternNode {
    return { kind: 'char', accepts: this.#fold((code) => code === expected) }
  }

  #fold(accepts: Accepts): Accepts {
    if (!this.#flags.ignoreCase) return accepts
    return (code) => accepts(code) || accepts(otherCase(code))
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

/** A general category or a script. */
function unicodeClass(name: string): Accepts | undefined {
  for (const property of [name, `Script=${name}`]) {
    try {
      const pattern = new RegExp(`^\\p{${property}}$`, 'u')
      return (code) => pattern.test(String.fromCodePoint(code))
    } catch {
      // Not the name of such a property.
    }
  }
  return undefined
}

function otherCase(code: number): number {
  if (code >= 65 && code <= 90) return code + 32
  if (code < 128) return code >= 97 && code <= 122 ? code - 32 : code
  const character = String.fromCodePoint(code)
  const lower = character.toLowerCase()
  const other = lower === character ? character.toUpperCase() : lower
  return other.length === character.length ? other.codePointAt(0)! : code
}

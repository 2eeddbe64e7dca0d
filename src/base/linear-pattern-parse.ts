/** A parsed pattern. */
export type Node =
  | { readonly kind: 'empty' }
  | { readonly kind: 'char'; readonly accepts: (code: number) => boolean }
  | { readonly kind: 'at'; readonly holds: (text: string, at: number) => boolean }
  | { readonly kind: 'sequence'; readonly parts: readonly Node[] }
  | { readonly kind: 'choice'; readonly options: readonly Node[] }
  | { readonly kind: 'repeat'; readonly of: Node; readonly least: number; readonly most: number }

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

const atBoundary = (text: string, at: number): boolean =>
  (at > 0 && isWord(text.charCodeAt(at - 1))) !== (at < text.length && isWord(text.charCodeAt(at)))

/** Reads a pattern; throws a sentence for what is wrong with it or cannot be matched in linear time. */
export function parsePattern(source: string): Node {
  return new Parser(source).parse()
}

class Parser {
  readonly #source: string
  #at = 0
  #depth = 0
  #folded = false

  constructor(source: string) {
    this.#source = source
  }

  parse(): Node {
    const node = this.#choice()
    if (this.#at < this.#source.length) throw this.#fault('there is a ) without its (')
    return node
  }

  #choice(): Node {
    if (++this.#depth > MAX_DEPTH) throw this.#fault(`groups are nested more than ${MAX_DEPTH} deep`)
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#depth--
    return options.length === 1 ? options[0]! : { kind: 'choice', options }
  }

  #sequence(): Node {
    const parts: Node[] = []
    while (this.#at < this.#source.length && !'|)'.includes(this.#peek())) parts.push(this.#repeated())
    return parts.length === 1
      ? parts[0]!
      : parts.length === 0
        ? { kind: 'empty' }
        : { kind: 'sequence', parts }
  }

  #repeated(): Node {
    const of = this.#atom()
    const range = this.#range()
    if (range === undefined) return of
    // Whether a repetition is greedy changes what is captured, never whether something matches.
    this.#take('?')
    if (this.#range() !== undefined) throw this.#fault('a repetition is repeated')
    return { kind: 'repeat', of, ...range }
  }

  #range(): { least: number; most: number } | undefined {
    if (this.#take('*')) return { least: 0, most: Number.POSITIVE_INFINITY }
    if (this.#take('+')) return { least: 1, most: Number.POSITIVE_INFINITY }
    if (this.#take('?')) return { least: 0, most: 1 }
    const counted = /^\{(\d{1,4})(,(\d{1,4})?)?\}/.exec(this.#source.slice(this.#at, this.#at + 12))
    if (counted === null) return undefined
    this.#at += counted[0].length
    const least = Number(counted[1])
    const open = counted[3] === undefined ? Number.POSITIVE_INFINITY : Number(counted[3])
    const most = counted[2] === undefined ? least : open
    if (least > MAX_REPEAT || (most !== Number.POSITIVE_INFINITY && most > MAX_REPEAT)) {
      throw this.#fault(`nothing may be repeated more than ${MAX_REPEAT} times`)
    }
    if (most < least) throw this.#fault('a repetition ends before it begins')
    return { least, most }
  }

  #atom(): Node {
    const character = this.#next()
    switch (character) {
      case '.':
        return { kind: 'char', accepts: (code) => code !== 10 }
      case '^':
        return { kind: 'at', holds: (_text, at) => at === 0 }
      case '$':
        return { kind: 'at', holds: (text, at) => at === text.length }
      case '(':
        return this.#group()
      case '[':
        return { kind: 'char', accepts: this.#set() }
      case '\\':
        return this.#escape()
      case '*':
      case '+':
      case '?':
        throw this.#fault(`there is nothing before ${character} to repeat`)
      default:
        return this.#literal(character.charCodeAt(0))
    }
  }

  #group(): Node {
    const outer = this.#folded
    const flags = /^\?(i|-i)?([:)])/.exec(this.#source.slice(this.#at, this.#at + 4))
    if (flags !== null) {
      this.#at += flags[0].length
      if (flags[1] !== undefined) this.#folded = flags[1] === 'i'
      // (?i) holds until the end of the group it stands in.
      if (flags[2] === ')') return { kind: 'empty' }
    } else if (this.#peek() === '?') {
      const named = /^\?P?<[A-Za-z_]\w*>/.exec(this.#source.slice(this.#at))
      if (named === null) throw this.#fault('look-around cannot be matched in linear time')
      this.#at += named[0].length
    }
    const node = this.#choice()
    if (!this.#take(')')) throw this.#fault('a ( has no )')
    this.#folded = outer
    return node
  }

  #escape(): Node {
    const character = this.#next()
    if (character === 'b') return { kind: 'at', holds: atBoundary }
    if (character === 'B') return { kind: 'at', holds: (text, at) => !atBoundary(text, at) }
    if (character === 'A') return { kind: 'at', holds: (_text, at) => at === 0 }
    if (character === 'z') return { kind: 'at', holds: (text, at) => at === text.length }
    const known = CLASSES[character]
    return known === undefined ? this.#literal(this.#escaped(character)) : { kind: 'char', accepts: known }
  }

  /** The character an escape outside the classes stands for. */
  #escaped(character: string): number {
    const control = CONTROLS[character]
    if (control !== undefined) return control
    if (character === 'x') {
      const digits = /^[0-9a-fA-F]{2}/.exec(this.#source.slice(this.#at, this.#at + 2))
      if (digits === null) throw this.#fault('\\x needs two hexadecimal digits')
      this.#at += 2
      return Number.parseInt(digits[0], 16)
    }
    if (/[0-9]/.test(character)) throw this.#fault('back-references cannot be matched in linear time')
    if (/[A-Za-z]/.test(character)) throw this.#fault(`\\${character} is not known`)
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
      if (this.#peek() !== '-' || this.#source[this.#at + 1] === ']') {
        parts.push(this.#fold((code) => code === from))
        continue
      }
      this.#at++
      const to = this.#member()
      if (typeof to === 'function' || to < from) throw this.#fault('a range in [ ] ends before it begins')
      parts.push(this.#fold((code) => code >= from && code <= to))
    }
    this.#at++
    const accepts: Accepts = (code) => parts.some((part) => part(code))
    return negated ? (code) => !accepts(code) : accepts
  }

  #member(): Accepts | number {
    const character = this.#next()
    if (character === '[' && this.#peek() === ':')
      throw this.#fault('named sets such as [:alpha:] are not known')
    if (character !== '\\') return character.charCodeAt(0)
    const escaped = this.#next()
    return CLASSES[escaped] ?? (escaped === 'b' ? 8 : this.#escaped(escaped))
  }

  #literal(wanted: number): Node {
    return { kind: 'char', accepts: this.#fold((code) => code === wanted) }
  }

  #fold(accepts: Accepts): Accepts {
    if (!this.#folded) return accepts
    return (code) => accepts(code) || accepts(otherCase(code))
  }

  #peek(): string {
    return this.#source[this.#at] ?? ''
  }

  #next(): string {
    const character = this.#source[this.#at++]
    if (character === undefined) throw this.#fault('it ends too early')
    return character
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false
    this.#at++
    return true
  }

  #fault(why: string): Error {
    return new Error(`"${this.#source.slice(0, 80)}" cannot be used as a pattern: ${why}.`)
  }
}

function otherCase(code: number): number {
  if (code >= 65 && code <= 90) return code + 32
  return code >= 97 && code <= 122 ? code - 32 : code
}

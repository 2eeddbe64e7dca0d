import { SourceError } from './diagnostic.ts'
import type { Value } from './values.ts'

/** One token: an operator or punctuation mark, a name, a name in backquotes, a number, or another literal with its value. */
export interface Token {
  readonly kind: 'mark' | 'name' | 'quotedName' | 'number' | 'literal' | 'end'
  readonly text: string
  readonly value?: Value
  readonly offset: number
}

const SPACE = /[\t\n\f\r ]+|\/\/[^\n]*/y
const MARK = /&&|\|\||<=|>=|==|!=|[-+*/%!<>()[\]{},.?:]/y
const NUMBER =
  /(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)|0x[0-9a-fA-F]+[uU]?|[0-9]+[uU]?/y
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y
const QUOTED_NAME = /`[A-Za-z0-9_.\-/ ]+`/y
const PREFIX = /(?:[rR][bB]?|[bB][rR]?)?(?="|')/y
const RAW_BODY = {
  '"""': /.*?"""/sy,
  "'''": /.*?'''/sy,
  '"': /[^"\n\r]*"/y,
  "'": /[^'\n\r]*'/y,
}
const BODY = {
  '"""': /(?:[^\\]|\\.)*?"""/sy,
  "'''": /(?:[^\\]|\\.)*?'''/sy,
  '"': /(?:[^"\\\n\r]|\\[^\n\r])*"/y,
  "'": /(?:[^'\\\n\r]|\\[^\n\r])*'/y,
}
const LITERAL_NAMES: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['true', true],
  ['false', false],
  ['null', null],
])

/** Splits a source into tokens; the last one has the kind `end`. */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  let position = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = position
    const text = pattern.exec(source)?.[0]
    if (text !== undefined) position += text.length
    return text
  }
  const next = (offset: number): Token => {
    const number = take(NUMBER)
    if (number !== undefined) {
      if (/[A-Za-z0-9_]/.test(source[position] ?? ''))
        throw new SourceError(`${number}${source[position]} is not a number`, offset)
      return { kind: 'number', text: number, offset }
    }
    const prefix = take(PREFIX)
    if (prefix !== undefined) return stringToken(prefix.toLowerCase(), offset)
    const name = take(NAME)
    if (name !== undefined) {
      if (name === 'in') return { kind: 'mark', text: name, offset }
      const value = LITERAL_NAMES.get(name)
      return value === undefined
        ? { kind: 'name', text: name, offset }
        : { kind: 'literal', text: name, value, offset }
    }
    const quotedName = take(QUOTED_NAME)
    if (quotedName !== undefined) return { kind: 'quotedName', text: quotedName.slice(1, -1), offset }
    const mark = take(MARK)
    if (mark !== undefined) return { kind: 'mark', text: mark, offset }
    const character = String.fromCodePoint(source.codePointAt(position)!)
    throw new SourceError(`${JSON.stringify(character)} is not allowed here`, offset)
  }
  const stringToken = (prefix: string, offset: number): Token => {
    const triple = source.slice(position, position + 3)
    const quote = (triple === '"""' || triple === "'''" ? triple : source[position]!) as keyof typeof BODY
    position += quote.length
    const raw = prefix.includes('r')
    const body = take((raw ? RAW_BODY : BODY)[quote])
    if (body === undefined) throw new SourceError('the text has no end', offset)
    const content = body.slice(0, -quote.length)
    const decode = prefix.includes('b') ? unescapeBytes : unescapeText
    const value = decode(content, raw, position - body.length)
    return { kind: 'literal', text: source.slice(offset, position), value, offset }
  }
  for (;;) {
    while (take(SPACE) !== undefined);
    if (position === source.length) return [...tokens, { kind: 'end', text: 'the end', offset: position }]
    tokens.push(next(position))
  }
}

const ESCAPE = /\\(?:[xX]([0-9a-fA-F]{2})|([0-3][0-7]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gs

const PLAIN_ESCAPES: ReadonlyMap<string, string> = new Map(
  Object.entries({ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }).concat(
    ['\\', '?', '"', "'", '`'].map((character) => [character, character]),
  ),
)

function unescapeText(content: string, raw: boolean, offset: number): string {
  if (raw || !content.includes('\\')) return content
  return content.replace(ESCAPE, (sequence, hex, octal, short, long, plain, index: number) => {
    if (plain !== undefined) return plainEscape(sequence, plain, offset + index)
    const code = octal === undefined ? Number.parseInt(hex ?? short ?? long, 16) : Number.parseInt(octal, 8)
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
      throw new SourceError(`${sequence} is not a character`, offset + index)
    return String.fromCodePoint(code)
  })
}

// An escape in a bytes literal is a byte, and everything else stands for its UTF-8 form.
function unescapeBytes(content: string, raw: boolean, offset: number): Uint8Array {
  const parts: Buffer[] = []
  let end = 0
  if (!raw)
    for (const match of content.matchAll(ESCAPE)) {
      const [sequence, hex, octal, short, long, plain] = match
      parts.push(Buffer.from(content.slice(end, match.index)))
      end = match.index + sequence.length
      if (short !== undefined || long !== undefined)
        throw new SourceError(`${sequence} is not allowed in bytes`, offset + match.index)
      if (plain !== undefined) parts.push(Buffer.from(plainEscape(sequence, plain, offset + match.index)))
      else parts.push(Buffer.of(octal === undefined ? Number.parseInt(hex!, 16) : Number.parseInt(octal, 8)))
    }
  return new Uint8Array(Buffer.concat([...parts, Buffer.from(content.slice(end))]))
}

function plainEscape(sequence: string, character: string, offset: number): string {
  const replacement = PLAIN_ESCAPES.get(character)
  if (replacement === undefined) throw new SourceError(`${sequence} is not a known escape`, offset)
  return replacement
}

/** An invalid filter; the message says what is wrong and where. */
export class FilterError extends Error {
  override name = 'FilterError'
  /** Counted from 1. */
  readonly column: number

  constructor(message: string, position: number) {
    super(`${message} (at character ${position + 1})`)
    this.column = position + 1
  }
}

/** One token of a filter: an operator or punctuation mark, a name, or a literal with its value. */
export interface Token {
  readonly kind: 'mark' | 'name' | 'literal' | 'end'
  readonly text: string
  readonly value?: string | number | boolean
  readonly position: number
}

const SPACE = /\s+/y
const MARK = /&&|\|\||<=|>=|==|!=|[!<>()[\],.-]/y
const NUMBER = /(?:0x[0-9a-f]+|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)u?(?![\w])/iy
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y
const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y
const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))/gs

const PLAIN_ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  "'": "'",
  '\\': '\\',
  '`': '`',
  '?': '?',
}

/** Splits a filter into tokens; the last one has the kind `end`. */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  let position = 0
  const next = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = position
    const text = pattern.exec(source)?.[0]
    if (text !== undefined) position += text.length
    return text
  }
  for (;;) {
    next(SPACE)
    const start = position
    if (position === source.length) return [...tokens, { kind: 'end', text: 'the end', position }]
    const mark = next(MARK)
    if (mark !== undefined) {
      tokens.push({ kind: 'mark', text: mark, position: start })
      continue
    }
    const number = next(NUMBER)
    if (number !== undefined) {
      tokens.push({
        kind: 'literal',
        text: number,
        value: Number(number.replace(/u$/i, '')),
        position: start,
      })
      continue
    }
    const string = next(STRING)
    if (string !== undefined) {
      tokens.push({
        kind: 'literal',
        text: string,
        value: unescapeLiteral(string.slice(1, -1), start),
        position: start,
      })
      continue
    }
    const name = next(NAME)
    if (name === undefined)
      throw new FilterError(`${JSON.stringify(source[position])} is not allowed here`, position)
    if (name === 'true' || name === 'false')
      tokens.push({ kind: 'literal', text: name, value: name === 'true', position: start })
    else tokens.push({ kind: name === 'in' ? 'mark' : 'name', text: name, position: start })
  }
}

function unescapeLiteral(text: string, position: number): string {
  return text.replace(ESCAPE, (sequence, byte?: string, unit?: string, plain?: string) => {
    const code = byte ?? unit
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
    const replacement = PLAIN_ESCAPES[plain ?? '']
    if (replacement === undefined) throw new FilterError(`${sequence} is not a known escape`, position)
    return replacement
  })
}

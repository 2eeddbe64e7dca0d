/** A filter that cannot be used, with a sentence saying what is wrong and where. */
export class FilterProblem extends Error {
  override name = 'FilterProblem'
  /** Counted from 1. */
  readonly column: number

  constructor(sentence: string, at: number) {
    super(`${sentence} (at character ${at + 1})`)
    this.column = at + 1
  }
}

/** One word of a filter: an operator or mark, a name, or a literal with its value. */
export interface Word {
  readonly kind: 'mark' | 'name' | 'literal' | 'end'
  readonly text: string
  readonly value?: string | number | boolean
  readonly at: number
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

/** The words of a filter, ended by one of kind `end`. */
export function readWords(source: string): Word[] {
  const words: Word[] = []
  let at = 0
  const next = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const text = pattern.exec(source)?.[0]
    if (text !== undefined) at += text.length
    return text
  }
  for (;;) {
    next(SPACE)
    const start = at
    if (at === source.length) return [...words, { kind: 'end', text: 'the end', at }]
    const mark = next(MARK)
    if (mark !== undefined) {
      words.push({ kind: 'mark', text: mark, at: start })
      continue
    }
    const number = next(NUMBER)
    if (number !== undefined) {
      words.push({ kind: 'literal', text: number, value: Number(number.replace(/u$/i, '')), at: start })
      continue
    }
    const string = next(STRING)
    if (string !== undefined) {
      words.push({ kind: 'literal', text: string, value: unescaped(string.slice(1, -1), start), at: start })
      continue
    }
    const name = next(NAME)
    if (name === undefined) throw new FilterProblem(`${JSON.stringify(source[at])} cannot stand here`, at)
    if (name === 'true' || name === 'false')
      words.push({ kind: 'literal', text: name, value: name === 'true', at: start })
    else words.push({ kind: name === 'in' ? 'mark' : 'name', text: name, at: start })
  }
}

function unescaped(text: string, at: number): string {
  return text.replace(ESCAPE, (whole, byte?: string, unit?: string, plain?: string) => {
    const code = byte ?? unit
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
    const meant = PLAIN_ESCAPES[plain ?? '']
    if (meant === undefined) throw new FilterProblem(`${whole} is not a known escape`, at)
    return meant
  })
}

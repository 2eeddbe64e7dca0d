import { childrenOf, type Element, type Entry, type Expr } from './ast.ts'
import { SourceError } from './diagnostic.ts'
import { expandMacro } from './macros.ts'
import { type Token, tokenize } from './tokens.ts'
import { Double, EvaluationError, int, uint, type Value } from './values.ts'

const MAX_SOURCE_LENGTH = 32_768

/** How deep expressions may nest, which bounds the stack of the parser. */
const MAX_NESTING = 100

/** Bounds the stack of everything that walks the tree: each operator of a chain such as `a + b + c` is one level of it. */
const MAX_TREE_DEPTH = 300

const RESERVED = new Set(
  'as break const continue else false for function if import in let loop null package namespace return true var void while'.split(
    ' ',
  ),
)

const BINARY: readonly (readonly string[])[] = [
  ['<', '<=', '==', '!=', '>=', '>', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
]

/** Parses an expression and expands its macros. Throws `SourceError`. */
export function parse(source: string): Expr {
  if (source.length > MAX_SOURCE_LENGTH)
    throw new SourceError(`the expression is longer than ${MAX_SOURCE_LENGTH} characters`, MAX_SOURCE_LENGTH)
  const expr = new Parser(tokenize(source)).parseAll()
  checkDepth(expr)
  return expr
}

/** Without recursion, because the depth is what it is about to bound. */
function checkDepth(root: Expr): void {
  let level: readonly Expr[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_TREE_DEPTH)
      throw new SourceError(`more than ${MAX_TREE_DEPTH} operators depend on each other`, level[0]!.offset)
    level = level.flatMap(childrenOf)
  }
}

class Parser {
  readonly #tokens: readonly Token[]
  #next = 0
  #depth = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  parseAll(): Expr {
    const expr = this.#expression()
    const token = this.#peek()
    if (token.kind !== 'end') throw this.#unexpected(token)
    return expr
  }

  #expression(): Expr {
    return this.#nested(() => {
      const test = this.#logic('||')
      const mark = this.#accept('?')
      if (mark === undefined) return test
      const then = this.#logic('||')
      this.#expect(':')
      const otherwise = this.#expression()
      return { kind: 'conditional', offset: mark.offset, test, then, otherwise }
    })
  }

  #logic(operator: '&&' | '||'): Expr {
    const term = () => (operator === '||' ? this.#logic('&&') : this.#binary(0))
    const first = term()
    const terms = [first]
    const offset = this.#peek().offset
    while (this.#accept(operator)) terms.push(term())
    return terms.length === 1 ? first : { kind: 'logic', offset, operator, terms }
  }

  #binary(level: number): Expr {
    const operators = BINARY[level]
    if (operators === undefined) return this.#unary()
    let left = this.#binary(level + 1)
    for (;;) {
      const mark = this.#accept(...operators)
      if (mark === undefined) return left
      const right = this.#binary(level + 1)
      left = { kind: 'call', offset: mark.offset, name: `_${mark.text}_`, args: [left, right] }
    }
  }

  #unary(): Expr {
    const mark = this.#accept('!', '-')
    if (mark === undefined) return this.#member()
    const number = this.#peek()
    if (mark.text === '-' && number.kind === 'number') {
      this.#next++
      const value = numberValue(`-${number.text}`, mark.offset)
      return this.#members({ kind: 'literal', offset: mark.offset, value })
    }
    const operand = this.#nested(() => this.#unary())
    return { kind: 'call', offset: mark.offset, name: mark.text === '!' ? '!_' : '-_', args: [operand] }
  }

  #member(): Expr {
    return this.#members(this.#primary())
  }

  #members(first: Expr): Expr {
    let expr = first
    for (;;) {
      const mark = this.#accept('.', '[')
      if (mark === undefined) return expr
      const optional = this.#accept('?') !== undefined
      expr =
        mark.text === '[' ? this.#index(expr, optional, mark) : this.#selection(expr, optional, mark.offset)
    }
  }

  #index(target: Expr, optional: boolean, { offset }: Token): Expr {
    const key = this.#expression()
    this.#expect(']')
    return { kind: 'call', offset, name: optional ? '_[?_]' : '_[_]', args: [target, key] }
  }

  #selection(operand: Expr, optional: boolean, dot: number): Expr {
    const field = this.#peek()
    if (field.kind !== 'name' && field.kind !== 'quotedName' && !isWord(field))
      throw new SourceError(`a field name was expected instead of ${field.text}`, field.offset)
    this.#next++
    const open = field.kind === 'quotedName' || optional ? undefined : this.#accept('(')
    if (open === undefined)
      return { kind: 'select', offset: dot, operand, field: field.text, optional, presence: false }
    const args = this.#list(')')
    const call = { kind: 'call', offset: field.offset, name: field.text, target: operand, args } as const
    return expandMacro(call) ?? call
  }

  #primary(): Expr {
    const token = this.#peek()
    const { offset } = token
    this.#next += token.kind === 'end' ? 0 : 1
    if (token.kind === 'literal') return { kind: 'literal', offset, value: token.value! }
    if (token.kind === 'number') return { kind: 'literal', offset, value: numberValue(token.text, offset) }
    if (token.kind === 'name') return this.#name(token.text, offset)
    if (token.kind !== 'mark') throw this.#unexpected(token)
    switch (token.text) {
      case '(': {
        const inner = this.#expression()
        this.#expect(')')
        return inner
      }
      case '[':
        return { kind: 'list', offset, elements: this.#elements() }
      case '{':
        return { kind: 'map', offset, entries: this.#entries() }
      case '.': {
        // A leading dot asks for the root of the namespace, which is where all names are.
        const name = this.#peek()
        if (name.kind !== 'name') throw this.#unexpected(name)
        this.#next++
        return this.#name(name.text, name.offset)
      }
      default:
        throw this.#unexpected(token)
    }
  }

  #name(name: string, offset: number): Expr {
    if (RESERVED.has(name)) throw new SourceError(`${name} is a reserved word`, offset)
    if (this.#accept('(') === undefined) return { kind: 'name', offset, name }
    const call = { kind: 'call', offset, name, args: this.#list(')') } as const
    return expandMacro(call) ?? call
  }

  #list(end: string): Expr[] {
    const items: Expr[] = []
    if (this.#accept(end)) return items
    do items.push(this.#expression())
    while (this.#accept(','))
    this.#expect(end)
    return items
  }

  #elements(): Element[] {
    const elements: Element[] = []
    while (this.#accept(']') === undefined) {
      elements.push({ optional: this.#accept('?') !== undefined, value: this.#expression() })
      if (this.#accept(',')) continue
      this.#expect(']')
      break
    }
    return elements
  }

  #entries(): Entry[] {
    const entries: Entry[] = []
    while (this.#accept('}') === undefined) {
      const optional = this.#accept('?') !== undefined
      const key = this.#expression()
      this.#expect(':')
      entries.push({ optional, key, value: this.#expression() })
      if (this.#accept(',')) continue
      this.#expect('}')
      break
    }
    return entries
  }

  #nested<T>(parseInner: () => T): T {
    if (++this.#depth > MAX_NESTING)
      throw new SourceError(`expressions are nested more than ${MAX_NESTING} deep`, this.#peek().offset)
    const inner = parseInner()
    this.#depth--
    return inner
  }

  #peek(): Token {
    return this.#tokens[this.#next]!
  }

  #accept(...marks: readonly string[]): Token | undefined {
    const token = this.#peek()
    if (token.kind !== 'mark' || !marks.includes(token.text)) return undefined
    this.#next++
    return token
  }

  #expect(mark: string): void {
    if (this.#accept(mark) !== undefined) return
    const { text, offset } = this.#peek()
    throw new SourceError(`${mark} was expected instead of ${text}`, offset)
  }

  #unexpected({ text, offset }: Token): SourceError {
    return new SourceError(`${text} was not expected`, offset)
  }
}

/** `in`, `true`, `false` and `null` are words, and words are fields after a dot. */
const isWord = ({ kind, text }: Token) => (kind === 'mark' || kind === 'literal') && /^\w+$/.test(text)

function numberValue(text: string, offset: number): Value {
  if (!/^-?0x/.test(text) && /[.eE]/.test(text)) return new Double(Number(text))
  const digits = text.replace(/^-|u$/gi, '')
  const magnitude = BigInt(digits)
  const signed = text.startsWith('-') ? -magnitude : magnitude
  try {
    return /u$/i.test(text) ? uint(signed) : int(signed)
  } catch (error) {
    if (error instanceof EvaluationError) throw new SourceError(`${text} exceeds 64 bits`, offset)
    throw error
  }
}

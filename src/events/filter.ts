import { FilterError, type Token, tokenize } from './filter-tokens.ts'

/** Reads one field of an event; undefined when the event does not have it. */
export type Getter<E> = (event: E) => unknown

/** Looks up the getter of a field such as `conn.client_ip`; undefined when events of the type do not have it. */
export type GetterOf<E> = (field: string) => Getter<E> | undefined

/** Whether an event matches. */
export type Filter<E> = (event: E) => boolean

const MAX_DEPTH = 64

/**
 * Compiles a filter: a subset of CEL over `ev` with `! && || < <= == != >= > in`, parentheses, lists, literals and
 * fields. An event matches when the filter is true; a filter that is unknown, because a field is absent, does not match.
 * Throws `FilterError` for anything else, so that a mistake is rejected when the filter is written and not when it runs.
 */
export function parseFilter<E>(source: string, getterOf: GetterOf<E>): Filter<E> {
  if (source.trim() === '') return () => true
  const parser = new Parser(tokenize(source), getterOf)
  const evaluate = parser.parseAll()
  return (event) => evaluate(event) === true
}

// Three-valued logic: undefined means unknown, for an absent field or values that cannot be compared.
class Parser<E> {
  readonly #tokens: readonly Token[]
  readonly #getterOf: GetterOf<E>
  #next = 0
  #depth = 0

  constructor(tokens: readonly Token[], getterOf: GetterOf<E>) {
    this.#tokens = tokens
    this.#getterOf = getterOf
  }

  parseAll(): Getter<E> {
    const evaluate = this.#or()
    const token = this.#peek()
    if (token.kind !== 'end') throw new FilterError(`${token.text} was not expected`, token.position)
    return evaluate
  }

  #peek(): Token {
    return this.#tokens[this.#next]!
  }

  #accept(...marks: string[]): Token | undefined {
    const token = this.#peek()
    if (token.kind !== 'mark' || !marks.includes(token.text)) return undefined
    this.#next += 1
    return token
  }

  #expect(mark: string): void {
    if (this.#accept(mark)) return
    const { text, position } = this.#peek()
    throw new FilterError(`${mark} was expected instead of ${text}`, position)
  }

  #nested<T>(parse: () => T): T {
    this.#depth += 1
    if (this.#depth > MAX_DEPTH)
      throw new FilterError('The filter is nested too deeply', this.#peek().position)
    const value = parse()
    this.#depth -= 1
    return value
  }

  #or(): Getter<E> {
    const parts = [this.#and()]
    while (this.#accept('||')) parts.push(this.#and())
    return parts.length === 1 ? parts[0]! : combine(parts, true)
  }

  #and(): Getter<E> {
    const parts = [this.#relation()]
    while (this.#accept('&&')) parts.push(this.#relation())
    return parts.length === 1 ? parts[0]! : combine(parts, false)
  }

  #relation(): Getter<E> {
    const left = this.#unary()
    const operator = this.#accept('<', '<=', '==', '!=', '>=', '>', 'in')
    if (!operator) return left
    const right = this.#unary()
    const compare = operators[operator.text]!
    return (event) => compare(left(event), right(event))
  }

  #unary(): Getter<E> {
    if (this.#accept('!')) {
      const inner = this.#nested(() => this.#unary())
      return (event) => {
        const value = inner(event)
        return typeof value === 'boolean' ? !value : undefined
      }
    }
    if (this.#accept('-')) {
      const { kind, value, position } = this.#peek()
      if (kind !== 'literal' || typeof value !== 'number')
        throw new FilterError('- is only allowed before a number', position)
      this.#next += 1
      return () => -value
    }
    return this.#primary()
  }

  #primary(): Getter<E> {
    if (this.#accept('(')) {
      const inner = this.#nested(() => this.#or())
      this.#expect(')')
      return inner
    }
    if (this.#accept('[')) return this.#list()
    const token = this.#peek()
    this.#next += token.kind === 'end' ? 0 : 1
    if (token.kind === 'literal') return () => token.value
    if (token.kind === 'name' && token.text === 'ev') return this.#field(token.position)
    if (token.kind === 'name')
      throw new FilterError(`${token.text} is not known: fields are written ev.<field>`, token.position)
    throw new FilterError(`A value was expected instead of ${token.text}`, token.position)
  }

  #list(): Getter<E> {
    const items: Getter<E>[] = []
    if (this.#accept(']')) return () => []
    do items.push(this.#nested(() => this.#or()))
    while (this.#accept(','))
    this.#expect(']')
    return (event) => items.map((item) => item(event))
  }

  #field(position: number): Getter<E> {
    const steps: string[] = []
    while (this.#accept('.')) {
      const step = this.#peek()
      if (step.kind !== 'name')
        throw new FilterError(`A field was expected instead of ${step.text}`, step.position)
      this.#next += 1
      steps.push(step.text)
    }
    const field = steps.join('.')
    if (this.#accept('(')) throw new FilterError('Functions are not supported in filters', position)
    const getter = this.#getterOf(field)
    if (getter === undefined) throw new FilterError(`The event has no field "${field}"`, position)
    return getter
  }
}

/** `||` when `decisive` is true, `&&` when it is false: the first part with that value decides. */
function combine<E>(parts: readonly Getter<E>[], decisive: boolean): Getter<E> {
  return (event) => {
    let outcome: boolean | undefined = !decisive
    for (const part of parts) {
      const value = part(event)
      if (value === decisive) return decisive
      if (typeof value !== 'boolean') outcome = undefined
    }
    return outcome
  }
}

function comparable(left: unknown, right: unknown): boolean {
  return typeof left === typeof right && ['string', 'number', 'boolean'].includes(typeof left)
}

type Ordered = string | number

function ordered(compare: (left: Ordered, right: Ordered) => boolean) {
  return (left: unknown, right: unknown) =>
    comparable(left, right) ? compare(left as Ordered, right as Ordered) : undefined
}

const operators: Readonly<Record<string, (left: unknown, right: unknown) => boolean | undefined>> = {
  '<': ordered((left, right) => left < right),
  '<=': ordered((left, right) => left <= right),
  '>=': ordered((left, right) => left >= right),
  '>': ordered((left, right) => left > right),
  '==': (left, right) => (comparable(left, right) ? left === right : undefined),
  '!=': (left, right) => (comparable(left, right) ? left !== right : undefined),
  in(left, right) {
    if (left === undefined) return undefined
    if (Array.isArray(right)) return right.includes(left)
    if (typeof right === 'object' && right !== null)
      return typeof left === 'string' && Object.hasOwn(right, left)
    return undefined
  },
}

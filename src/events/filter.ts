import { FilterProblem, readWords, type Word } from './filter-tokens.ts'

/** Reads one field of an event; undefined when the event does not have it. */
export type Getter<E> = (event: E) => unknown

/** How to read a field such as `conn.client_ip`; undefined when events of the type do not have it. */
export type GetterOf<E> = (field: string) => Getter<E> | undefined

/** Whether an event passes. */
export type Filter<E> = (event: E) => boolean

const MAX_DEPTH = 64

/**
 * Compiles a filter: a subset of CEL over `ev` with `! && || < <= == != >= > in`, parentheses, lists, literals and
 * fields. An event passes when the filter is true; a filter that cannot be told, because a field is absent, is not.
 * Throws `FilterProblem` for anything else, so that a mistake is refused when it is written and not when it is used.
 */
export function parseFilter<E>(source: string, getterOf: GetterOf<E>): Filter<E> {
  if (source.trim() === '') return () => true
  const parser = new Parser(readWords(source), getterOf)
  const evaluate = parser.whole()
  return (event) => evaluate(event) === true
}

// In what follows undefined stands for "cannot be told": a field that is not there, or values that do not compare.
class Parser<E> {
  readonly #words: readonly Word[]
  readonly #getterOf: GetterOf<E>
  #next = 0
  #depth = 0

  constructor(words: readonly Word[], getterOf: GetterOf<E>) {
    this.#words = words
    this.#getterOf = getterOf
  }

  whole(): Getter<E> {
    const evaluate = this.#or()
    const rest = this.#peek()
    if (rest.kind !== 'end') throw new FilterProblem(`${rest.text} was not expected`, rest.at)
    return evaluate
  }

  #peek(): Word {
    return this.#words[this.#next]!
  }

  #take(...marks: string[]): Word | undefined {
    const word = this.#peek()
    if (word.kind !== 'mark' || !marks.includes(word.text)) return undefined
    this.#next += 1
    return word
  }

  #require(mark: string): void {
    if (this.#take(mark)) return
    const { text, at } = this.#peek()
    throw new FilterProblem(`${mark} was expected instead of ${text}`, at)
  }

  #deeper<T>(parse: () => T): T {
    this.#depth += 1
    if (this.#depth > MAX_DEPTH) throw new FilterProblem('The filter is nested too deeply', this.#peek().at)
    const value = parse()
    this.#depth -= 1
    return value
  }

  #or(): Getter<E> {
    const parts = [this.#and()]
    while (this.#take('||')) parts.push(this.#and())
    return parts.length === 1 ? parts[0]! : decide(parts, true)
  }

  #and(): Getter<E> {
    const parts = [this.#relation()]
    while (this.#take('&&')) parts.push(this.#relation())
    return parts.length === 1 ? parts[0]! : decide(parts, false)
  }

  #relation(): Getter<E> {
    const left = this.#unary()
    const operator = this.#take('<', '<=', '==', '!=', '>=', '>', 'in')
    if (!operator) return left
    const right = this.#unary()
    const compare = operators[operator.text]!
    return (event) => compare(left(event), right(event))
  }

  #unary(): Getter<E> {
    if (this.#take('!')) {
      const inner = this.#deeper(() => this.#unary())
      return (event) => {
        const value = inner(event)
        return typeof value === 'boolean' ? !value : undefined
      }
    }
    if (this.#take('-')) {
      const { kind, value, at } = this.#peek()
      if (kind !== 'literal' || typeof value !== 'number')
        throw new FilterProblem('- stands before numbers only', at)
      this.#next += 1
      return () => -value
    }
    return this.#primary()
  }

  #primary(): Getter<E> {
    if (this.#take('(')) {
      const inner = this.#deeper(() => this.#or())
      this.#require(')')
      return inner
    }
    if (this.#take('[')) return this.#list()
    const word = this.#peek()
    this.#next += word.kind === 'end' ? 0 : 1
    if (word.kind === 'literal') return () => word.value
    if (word.kind === 'name' && word.text === 'ev') return this.#field(word.at)
    if (word.kind === 'name')
      throw new FilterProblem(`${word.text} is not known: fields are written ev.<field>`, word.at)
    throw new FilterProblem(`A value was expected instead of ${word.text}`, word.at)
  }

  #list(): Getter<E> {
    const items: Getter<E>[] = []
    if (this.#take(']')) return () => []
    do items.push(this.#deeper(() => this.#or()))
    while (this.#take(','))
    this.#require(']')
    return (event) => items.map((item) => item(event))
  }

  #field(at: number): Getter<E> {
    const steps: string[] = []
    while (this.#take('.')) {
      const step = this.#peek()
      if (step.kind !== 'name')
        throw new FilterProblem(`A field was expected instead of ${step.text}`, step.at)
      this.#next += 1
      steps.push(step.text)
    }
    const field = steps.join('.')
    if (this.#take('(')) throw new FilterProblem('Functions are not supported in filters', at)
    const getter = this.#getterOf(field)
    if (getter === undefined) throw new FilterProblem(`The event has no field "${field}"`, at)
    return getter
  }
}

/** `||` when `by` is true, `&&` when it is false: as soon as one part says `by` the others do not matter. */
function decide<E>(parts: readonly Getter<E>[], by: boolean): Getter<E> {
  return (event) => {
    let outcome: boolean | undefined = !by
    for (const part of parts) {
      const value = part(event)
      if (value === by) return by
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

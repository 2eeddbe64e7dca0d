import { FilterProblem, readWords, type Word } from './filter-words.ts'

/** Reads one field of an event, such as `conn.client_ip`; undefined when the event does not have it. */
export type FieldReader = (field: string) => unknown

/** Whether an event passes. */
export type Filter = (read: FieldReader) => boolean

// Undefined stands for "cannot be told": a field that is not there, or values that cannot be compared.
type Evaluate = (read: FieldReader) => unknown

const MAX_DEPTH = 64

/**
 * Compiles a filter: a subset of CEL over `ev` with `! && || < <= == != >= > in`, parentheses, lists, literals and
 * fields. An event passes when the filter is true; a filter that cannot be told, because a field is absent, is not.
 * Throws `FilterProblem` for anything else, so that a mistake is refused when it is written and not when it is used.
 */
export function parseFilter(source: string, fields: ReadonlySet<string>): Filter {
  if (source.trim() === '') return () => true
  const parser = new Parser(readWords(source), fields)
  const evaluate = parser.whole()
  return (read) => evaluate(read) === true
}

class Parser {
  readonly #words: readonly Word[]
  readonly #fields: ReadonlySet<string>
  #next = 0
  #depth = 0

  constructor(words: readonly Word[], fields: ReadonlySet<string>) {
    this.#words = words
    this.#fields = fields
  }

  whole(): Evaluate {
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

  #or(): Evaluate {
    const parts = [this.#and()]
    while (this.#take('||')) parts.push(this.#and())
    return parts.length === 1 ? parts[0]! : decide(parts, true)
  }

  #and(): Evaluate {
    const parts = [this.#relation()]
    while (this.#take('&&')) parts.push(this.#relation())
    return parts.length === 1 ? parts[0]! : decide(parts, false)
  }

  #relation(): Evaluate {
    const left = this.#unary()
    const operator = this.#take('<', '<=', '==', '!=', '>=', '>', 'in')
    if (!operator) return left
    const right = this.#unary()
    const compare = operators[operator.text]!
    return (read) => compare(left(read), right(read))
  }

  #unary(): Evaluate {
    if (this.#take('!')) {
      const inner = this.#deeper(() => this.#unary())
      return (read) => {
        const value = inner(read)
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

  #primary(): Evaluate {
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

  #list(): Evaluate {
    const items: Evaluate[] = []
    if (this.#take(']')) return () => []
    do items.push(this.#deeper(() => this.#or()))
    while (this.#take(','))
    this.#require(']')
    return (read) => items.map((item) => item(read))
  }

  #field(at: number): Evaluate {
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
    if (!this.#fields.has(field)) throw new FilterProblem(`The event has no field "${field}"`, at)
    return (read) => read(field)
  }
}

/** `||` when `by` is true, `&&` when it is false: as soon as one part says `by` the others do not matter. */
function decide(parts: readonly Evaluate[], by: boolean): Evaluate {
  return (read) => {
    let outcome: boolean | undefined = !by
    for (const part of parts) {
      const value = part(read)
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

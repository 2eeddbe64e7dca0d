import type { Comprehension, Expr } from './ast.ts'
import type { Budget } from './budget.ts'
import type { CheckedExpr } from './check.ts'
import { chargeKey, chargeLength, equal } from './compare.ts'
import { SourceError } from './diagnostic.ts'
import { orderBy } from './library/lists.ts'
import type { Call, CallContext, Overload } from './overload.ts'
import { accepts, fitsStatically } from './runtime-types.ts'
import type { Shape, Type } from './types.ts'
import {
  AbsentField,
  EvaluationError,
  isList,
  keysOf,
  lookUp,
  type MapValue,
  mapFrom,
  NONE,
  Optional,
  Struct,
  typeName,
  type Value,
} from './values.ts'

/** One evaluation: what it reads, its budget, and the variables of its macros. */
export class Frame implements CallContext {
  readonly activation: unknown
  readonly locals: (Value | undefined)[]
  readonly #budget: Budget

  constructor(activation: unknown, slots: number, budget: Budget) {
    this.activation = activation
    this.locals = slots === 0 ? NO_LOCALS : new Array(slots)
    this.#budget = budget
  }

  charge(units: number): void {
    this.#budget.charge(units)
  }
}

const NO_LOCALS: (Value | undefined)[] = []

/** A compiled expression. */
export type Run = (frame: Frame) => Value

/** Unwinding an error takes about as long as this many steps. */
const ERROR_COST = 200

/** Compiles a checked expression into closures; `cost` is what one run takes, without its loops and the lengths of values. */
export function toClosure(expr: Expr, checked: CheckedExpr): { readonly run: Run; readonly cost: number } {
  const compiler = new Compiler(checked)
  const run = compiler.value(expr)
  return { run, cost: compiler.nodes }
}

class Compiler {
  readonly #checked: CheckedExpr
  /** How many expressions were compiled so far: a loop charges for those in its body. */
  nodes = 0

  constructor(checked: CheckedExpr) {
    this.#checked = checked
  }

  value(expr: Expr): Run {
    this.nodes++
    const type = this.#checked.typeOf(expr)
    if (type.kind !== 'object') return this.#compile(expr)
    const source = this.#source(expr)
    const { shape } = type
    const { text } = shape
    if (text === undefined || !this.#checked.isText(expr)) return (frame) => new Struct(shape, source(frame))
    return (frame) => {
      const written = text(source(frame) as never)
      chargeLength(frame, written.length)
      return written
    }
  }

  /** Reads the source of an object, without making a value of it. */
  #source(expr: Expr): (frame: Frame) => unknown {
    const resolution = this.#checked.resolutionOf(expr)
    if (resolution?.kind === 'variable') return readVariable(resolution.name, resolution.variable.read)
    if (expr.kind === 'select') {
      const shape = this.#shapeOf(expr.operand)
      if (shape !== undefined) return this.#readField(expr, shape)
    }
    const struct = this.#compile(expr)
    return (frame) => (struct(frame) as Struct).source
  }

  #shapeOf(expr: Expr): Shape | undefined {
    const type = this.#checked.typeOf(expr)
    return type.kind === 'object' ? type.shape : undefined
  }

  #readField({ operand, field }: Expr & { kind: 'select' }, shape: Shape): (frame: Frame) => unknown {
    this.nodes++
    const source = this.#source(operand)
    const { read, fallback } = shape.fields[field]!
    return (frame) => {
      // A field that is null is there.
      const known = read(source(frame) as never)
      const value = known === undefined ? fallback : known
      if (value === undefined) throw new AbsentField(`no such key: ${field}`)
      return value
    }
  }

  #compile(expr: Expr): Run {
    const resolution = this.#checked.resolutionOf(expr)
    if (resolution?.kind === 'variable') return readVariable(resolution.name, resolution.variable.read) as Run
    if (resolution?.kind === 'type') return () => resolution.value
    if (resolution?.kind === 'local') {
      const { slot } = resolution.local
      return this.#lazy.get(slot) ?? ((frame) => frame.locals[slot]!)
    }
    switch (expr.kind) {
      case 'literal': {
        const { value } = expr
        return () => value
      }
      case 'name':
        throw new Error(`the checker left ${expr.name} unresolved`)
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#list(expr)
      case 'map':
        return this.#map(expr)
      case 'logic':
        return this.#logic(expr)
      case 'conditional': {
        const test = this.value(expr.test)
        const then = this.value(expr.then)
        const otherwise = this.value(expr.otherwise)
        return (frame) => (asBool(test(frame)) ? then(frame) : otherwise(frame))
      }
      case 'comprehension':
        return this.#comprehension(expr)
      case 'bind':
        return this.#bind(expr)
      case 'optMap':
        return this.#optMap(expr)
    }
  }

  #select(expr: Expr & { kind: 'select' }): Run {
    const { field, optional, presence } = expr
    const shape = this.#shapeOf(expr.operand)
    if (shape !== undefined) {
      if (!optional && !presence) return this.#readField(expr, shape) as Run
      const source = this.#source(expr.operand)
      if (presence) {
        const { read } = shape.fields[field]!
        return (frame) => read(source(frame) as never) !== undefined
      }
      return (frame) => toOptional(new Struct(shape, source(frame)).get(field))
    }
    const operand = this.value(expr.operand)
    if (presence) return (frame) => isPresent(operand(frame), field)
    if (optional) return (frame) => selectOptional(operand(frame), field)
    return (frame) => select(operand(frame), field)
  }

  #call(expr: Expr & { kind: 'call' }): Run {
    if (expr.name === '_[_]' || expr.name === '_[?_]') {
      const [target, index] = expr.args.map((arg) => this.value(arg)) as [Run, Run]
      const key: Run = (frame) => chargeKey(frame, index(frame))
      if (expr.name === '_[?_]') return (frame) => selectOptional(target(frame), key(frame))
      return (frame) => select(target(frame), key(frame))
    }
    const resolution = this.#checked.resolutionOf(expr)
    if (resolution?.kind !== 'overloads') throw new Error(`the checker left ${expr.name} unresolved`)
    const { overloads, args } = resolution
    const types = args.map((arg) => this.#valueType(arg))
    const runs = args.map((arg) => this.value(arg))
    const fast = this.#comparison(expr.name, types, runs)
    if (fast !== undefined) return fast
    const candidates = overloads.map((overload) => specialized(overload, args, expr.offset))
    const [first, ...others] = candidates
    const only = others.length === 0 ? first : undefined
    if (only?.parameters.every((type, i) => fitsStatically(type, types[i]!))) return direct(only.call, runs)
    return dispatched(expr.name, candidates, runs)
  }

  #valueType(expr: Expr): Type {
    return this.#checked.isText(expr) ? { kind: 'string' } : this.#checked.typeOf(expr)
  }

  /** The comparisons that policies consist of. */
  #comparison(name: string, types: readonly Type[], runs: readonly Run[]): Run | undefined {
    if (name !== '_==_' && name !== '_!=_') return undefined
    const [left, right] = runs as [Run, Run]
    const identical = types.every(({ kind }) => kind === 'string' || kind === 'int' || kind === 'bool')
    if (identical && name === '_==_') return (frame) => isSame(frame, left(frame), right(frame))
    if (identical) return (frame) => !isSame(frame, left(frame), right(frame))
    if (name === '_==_') return (frame) => equal(frame, left(frame), right(frame))
    return (frame) => !equal(frame, left(frame), right(frame))
  }

  #list(expr: Expr & { kind: 'list' }): Run {
    const { elements } = expr
    const constant = constantOf(expr)
    if (constant !== undefined) return () => constant
    const runs = elements.map(({ value }) => this.value(value))
    if (elements.every(({ optional }) => !optional)) return (frame) => runs.map((run) => run(frame))
    return (frame) => {
      const list: Value[] = []
      for (const [index, run] of runs.entries()) {
        const value = elements[index]!.optional ? asOptional(run(frame)).value : run(frame)
        if (value !== undefined) list.push(value)
      }
      return list
    }
  }

  #map({ entries }: Expr & { kind: 'map' }): Run {
    const runs = entries.map(({ key, value, optional }) => ({
      key: this.value(key),
      value: this.value(value),
      optional,
    }))
    return (frame) => {
      const present: [Value, Value][] = []
      for (const { key, value, optional } of runs) {
        const name = key(frame)
        const content = optional ? asOptional(value(frame)).value : value(frame)
        if (content !== undefined) present.push([name, content])
      }
      return mapFrom(present)
    }
  }

  #logic({ operator, terms }: Expr & { kind: 'logic' }): Run {
    const runs = terms.map((term) => this.value(term))
    const decisive = operator === '||'
    return (frame) => {
      let error: unknown
      for (const run of runs) {
        try {
          if (asBool(run(frame)) === decisive) return decisive
        } catch (thrown) {
          error = ignorable(frame, thrown)
        }
      }
      if (error !== undefined) throw error
      return !decisive
    }
  }

  readonly #lazy = new Map<number, Run>()

  #bind(expr: Expr & { kind: 'bind' }): Run {
    const locals = this.#checked.localsOf(expr)
    for (const [index, { value }] of expr.bindings.entries()) {
      const { slot } = locals[index]!
      const run = this.value(value)
      this.#lazy.set(slot, (frame) => {
        const known = frame.locals[slot]
        if (known !== undefined) return known
        const value = run(frame)
        frame.locals[slot] = value
        return value
      })
    }
    const body = this.value(expr.body)
    return (frame) => {
      for (const { slot } of locals) frame.locals[slot] = undefined
      return body(frame)
    }
  }

  #optMap(expr: Expr & { kind: 'optMap' }): Run {
    const target = this.value(expr.target)
    const body = this.value(expr.body)
    const { slot } = this.#checked.localsOf(expr)[0]!
    return (frame) => {
      const { value } = asOptional(target(frame))
      if (value === undefined) return NONE
      frame.locals[slot] = value
      return expr.flat ? asOptional(body(frame)) : new Optional(body(frame))
    }
  }

  #comprehension(expr: Comprehension): Run {
    const target = this.value(expr.target)
    const before = this.nodes
    const slots = this.#checked.localsOf(expr).map(({ slot }) => slot)
    // Without a condition every element counts; without a transformation it stays what it is.
    const condition = expr.condition ? this.value(expr.condition) : () => true
    const transform = expr.transform ? this.value(expr.transform) : (frame: Frame) => frame.locals[slots[0]!]!
    const bodyCost = 1 + this.nodes - before
    // Calls back for every element, until that returns false.
    const each: Each = (frame, visit) => {
      const { keys, values } = rangeOf(frame, target(frame), slots.length)
      for (const [index, key] of keys.entries()) {
        frame.charge(bodyCost)
        frame.locals[slots[0]!] = key
        if (slots.length === 2) frame.locals[slots[1]!] = values[index]!
        if (!visit(key)) return
      }
    }
    switch (expr.macro) {
      case 'all':
        return quantifier(each, condition, false)
      case 'exists':
        return quantifier(each, condition, true)
      case 'existsOne':
        return (frame) => {
          let matches = 0
          each(frame, () => {
            if (asBool(condition(frame))) matches++
            return true
          })
          return matches === 1
        }
      case 'filter':
      case 'map':
        return (frame) => {
          const list: Value[] = []
          each(frame, () => {
            if (asBool(condition(frame))) list.push(transform(frame))
            return true
          })
          return list
        }
      case 'transformMap':
      case 'transformMapEntry': {
        const whole = expr.macro === 'transformMapEntry'
        return (frame) => {
          const entries: [Value, Value][] = []
          each(frame, (key) => {
            if (!asBool(condition(frame))) return true
            const value = transform(frame)
            if (!whole) entries.push([key, value])
            else {
              frame.charge(asMap(value).size)
              for (const name of keysOf(asMap(value))) entries.push([name, lookUp(value, name)!])
            }
            return true
          })
          return mapFrom(entries)
        }
      }
      case 'sortBy':
        return (frame) => {
          const elements: Value[] = []
          const keys: Value[] = []
          each(frame, (element) => {
            elements.push(element)
            keys.push(transform(frame))
            return true
          })
          return orderBy(frame, elements, keys)
        }
    }
  }
}

type Each = (frame: Frame, visit: (key: Value) => boolean) => void

/** `exists` when `decisive` is true, `all` when it is false: an error counts only if no element decides. */
function quantifier(each: Each, condition: Run, decisive: boolean): Run {
  return (frame) => {
    let outcome = !decisive
    let error: unknown
    each(frame, () => {
      try {
        if (asBool(condition(frame)) === decisive) outcome = decisive
      } catch (thrown) {
        error = ignorable(frame, thrown)
      }
      return outcome !== decisive
    })
    if (outcome !== decisive && error !== undefined) throw error
    return outcome
  }
}

/** The range of a macro; with one variable, `keys` are the elements of a list. Others are copied, whichever elements it visits. */
function rangeOf(
  frame: Frame,
  range: Value,
  variables: number,
): { keys: readonly Value[]; values: readonly Value[] } {
  if (isList(range) && variables === 1) return { keys: range, values: range }
  frame.charge(1 + (isList(range) ? range.length : asMap(range).size))
  if (isList(range)) return { keys: range.map((_, index) => index), values: range }
  const map = asMap(range)
  return { keys: keysOf(map), values: variables === 1 ? [] : [...map.values()] }
}

function readVariable(name: string, read: (activation: never) => unknown): (frame: Frame) => unknown {
  return (frame) => {
    const value = read(frame.activation as never)
    if (value === undefined) throw new EvaluationError(`no such key: ${name}`)
    return value
  }
}

/** The overload, prepared for those of its arguments that are literals. */
function specialized(overload: Overload, args: readonly Expr[], offset: number): Overload {
  try {
    const call = overload.specialize?.(args.map(constantOf))
    return call === undefined ? overload : { ...overload, call }
  } catch (error) {
    if (error instanceof EvaluationError) throw new SourceError(error.message, offset)
    throw error
  }
}

/** The value of a literal, or of a list of literals. */
function constantOf(expr: Expr): Value | undefined {
  if (expr.kind === 'literal') return expr.value
  if (expr.kind !== 'list') return undefined
  const values = expr.elements.map(({ value, optional }) => (optional ? undefined : constantOf(value)))
  return values.every((value) => value !== undefined) ? values : undefined
}

function direct(call: Call, runs: readonly Run[]): Run {
  const [first, second, third] = runs as [Run, Run, Run]
  switch (runs.length) {
    case 0:
      return (frame) => call(frame)
    case 1:
      return (frame) => call(frame, first(frame))
    case 2:
      return (frame) => call(frame, first(frame), second(frame))
    case 3:
      return (frame) => call(frame, first(frame), second(frame), third(frame))
    default:
      return (frame) => call(frame, ...runs.map((run) => run(frame)))
  }
}

/** Chooses the overload by the values, where the types of the expression leave it open. */
function dispatched(name: string, overloads: readonly Overload[], runs: readonly Run[]): Run {
  return (frame) => {
    const args = runs.map((run) => run(frame))
    frame.charge(2 * overloads.length)
    const overload = overloads.find(({ parameters }) =>
      parameters.every((type, index) => accepts(type, args[index]!)),
    )
    if (overload !== undefined) return overload.call(frame, ...args)
    throw new EvaluationError(`no such overload: ${name}(${args.map(typeName).join(', ')})`)
  }
}

/** Whether two texts, ints or booleans are the same; comparing texts of one length takes long when they are. */
function isSame(frame: Frame, left: Value, right: Value): boolean {
  if (typeof left === 'string' && typeof right === 'string' && left.length === right.length)
    chargeLength(frame, left.length)
  return left === right
}

/** Rethrows what no operator may ignore. */
function ignorable(frame: Frame, thrown: unknown): unknown {
  if (!(thrown instanceof EvaluationError)) throw thrown
  frame.charge(ERROR_COST)
  return thrown
}

function asBool(value: Value): boolean {
  if (typeof value === 'boolean') return value
  throw new EvaluationError(`no such overload: bool was expected instead of ${typeName(value)}`)
}

function asOptional(value: Value): Optional {
  if (value instanceof Optional) return value
  throw new EvaluationError(`no such overload: an optional was expected instead of ${typeName(value)}`)
}

function asMap(value: Value): MapValue {
  if (value instanceof Map) return value
  throw new EvaluationError(`no such overload: a list or map was expected instead of ${typeName(value)}`)
}

const toOptional = (value: Value | undefined): Optional => (value === undefined ? NONE : new Optional(value))

function select(container: Value, key: Value): Value {
  if (container instanceof Optional) return selectOptional(container, key)
  const value = container instanceof Struct ? container.getOrFallback(String(key)) : lookUp(container, key)
  if (value === undefined)
    throw new EvaluationError(
      isList(container) ? `index out of bounds: ${String(key)}` : `no such key: ${String(key)}`,
    )
  return value
}

function selectOptional(container: Value, key: Value): Optional {
  if (!(container instanceof Optional)) return toOptional(lookUp(container, key))
  return container.value === undefined ? NONE : toOptional(lookUp(container.value, key))
}

function isPresent(container: Value, field: string): boolean {
  if (container instanceof Optional) return selectOptional(container, field).value !== undefined
  return lookUp(container, field) !== undefined
}

import { findNearest } from '../base/values/nearest.ts'
import { Substitution } from './assign.ts'
import type { Comprehension, Expr } from './ast.ts'
import { SourceError } from './diagnostic.ts'
import type { Environment, Variable } from './environment.ts'
import type { Overload } from './overload.ts'
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  insideOptional,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  TIMESTAMP,
  type Type,
  typeText,
  UINT,
  withParts,
} from './types.ts'
import { Double, isInt, TypeValue, Uint, type Value } from './values.ts'

/** What a name or call means. */
export type Resolution =
  | { readonly kind: 'variable'; readonly variable: Variable; readonly name: string }
  | { readonly kind: 'local'; readonly local: Local }
  | { readonly kind: 'type'; readonly value: TypeValue }
  | { readonly kind: 'overloads'; readonly overloads: readonly Overload[]; readonly args: readonly Expr[] }

/** A variable of a macro. */
export interface Local {
  readonly name: string
  readonly type: Type
  /** Where the value is kept during an evaluation. */
  readonly slot: number
}

/** The outcome of a check without mistakes. */
export interface CheckedExpr {
  readonly type: Type
  readonly slots: number
  /** The type of an expression, without open parameters. */
  typeOf(expr: Expr): Type
  /** Whether an expression has a type of its own: parts of a name with dots have none. */
  hasType(expr: Expr): boolean
  resolutionOf(expr: Expr): Resolution | undefined
  /** The variables that a macro declares. */
  localsOf(expr: Expr): readonly Local[]
  /** Whether an object is read as the text that it also is. */
  isText(expr: Expr): boolean
}

const TYPE_NAMES: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['bool', BOOL],
  ['int', INT],
  ['uint', UINT],
  ['double', DOUBLE],
  ['string', STRING],
  ['bytes', BYTES],
  ['null_type', NULL],
  ['google.protobuf.Timestamp', TIMESTAMP],
  ['google.protobuf.Duration', DURATION],
  ['list', listOf(DYN)],
  ['map', mapOf(DYN, DYN)],
  ['type', { kind: 'type', inner: DYN }],
  ['optional_type', optionalOf(DYN)],
])

/** Once a mistake was found its expression is dyn, so that it is reported once. */
const MAX_MISTAKES = 10

/** Deduces the type of an expression and what its names mean. Returns the mistakes if there are any. */
export function check(
  expr: Expr,
  environment: Environment,
): { checked: CheckedExpr } | { mistakes: readonly SourceError[] } {
  return new Checker(environment).run(expr)
}

class Checker {
  readonly #environment: Environment
  readonly #substitution = new Substitution()
  readonly #types = new Map<Expr, Type>()
  readonly #resolutions = new Map<Expr, Resolution>()
  readonly #declared = new Map<Expr, readonly Local[]>()
  readonly #texts = new Set<Expr>()
  readonly #mistakes: SourceError[] = []
  #scope: readonly Local[] = []
  #slots = 0

  constructor(environment: Environment) {
    this.#environment = environment
  }

  run(expr: Expr): { checked: CheckedExpr } | { mistakes: readonly SourceError[] } {
    const type = this.#value(expr)
    if (this.#mistakes.length > 0) return { mistakes: this.#mistakes }
    return {
      checked: {
        type: this.#final(type),
        slots: this.#slots,
        typeOf: (inner) => this.#final(this.#types.get(inner)!),
        hasType: (inner) => this.#types.has(inner),
        resolutionOf: (inner) => this.#resolutions.get(inner),
        localsOf: (inner) => this.#declared.get(inner) ?? [],
        isText: (inner) => this.#texts.has(inner),
      },
    }
  }

  /** The type of an expression as a value: an object with a text is that text. */
  #value(expr: Expr): Type {
    const type = this.#check(expr)
    if (type.kind !== 'object' || type.shape.text === undefined) return type
    this.#texts.add(expr)
    return STRING
  }

  #check(expr: Expr): Type {
    const type = this.#deduce(expr)
    this.#types.set(expr, type)
    return type
  }

  #deduce(expr: Expr): Type {
    switch (expr.kind) {
      case 'literal':
        return literalType(expr.value)
      case 'name':
        return this.#name(expr, expr.name) ?? this.#undeclared(expr, expr.name)
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return listOf(
          this.#join(
            expr.elements.map(({ value, optional }) =>
              optional ? this.#optional(value) : this.#value(value),
            ),
          ),
        )
      case 'map': {
        const keys = this.#join(expr.entries.map(({ key }) => this.#value(key)))
        const values = expr.entries.map(({ value, optional }) =>
          optional ? this.#optional(value) : this.#value(value),
        )
        return mapOf(keys, this.#join(values))
      }
      case 'logic':
        for (const term of expr.terms) this.#expect(BOOL, term)
        return BOOL
      case 'conditional':
        return this.#conditional(expr)
      case 'comprehension':
        return this.#comprehension(expr)
      case 'bind':
        return this.#bind(expr)
      case 'optMap':
        return this.#optMap(expr)
    }
  }

  #name(expr: Expr, name: string): Type | undefined {
    const local = this.#scope.findLast((candidate) => candidate.name === name)
    if (local !== undefined) return this.#resolve(expr, { kind: 'local', local }, local.type)
    const variable = this.#environment.variables.get(name)
    if (variable !== undefined)
      return this.#resolve(expr, { kind: 'variable', variable, name }, variable.type)
    const type = TYPE_NAMES.get(name)
    if (type === undefined) return undefined
    return this.#resolve(expr, { kind: 'type', value: new TypeValue(name) }, { kind: 'type', inner: type })
  }

  #resolve(expr: Expr, resolution: Resolution, type: Type): Type {
    this.#resolutions.set(expr, resolution)
    return type
  }

  #undeclared(expr: Expr, name: string): Type {
    const near = findNearest(name, [
      ...this.#scope.map((local) => local.name),
      ...this.#environment.variables.keys(),
    ])
    return this.#mistake(`${name} is not known${near === undefined ? '' : `; did you mean ${near}?`}`, expr)
  }

  #select(expr: Expr & { kind: 'select' }): Type {
    const path = qualifiedName(expr)
    // The longest name wins, unless its first part is a variable of a macro.
    if (path !== undefined && !expr.presence && !expr.optional && !this.#isLocal(path)) {
      const type = this.#name(expr, path)
      if (type !== undefined) return type
    }
    const operand = this.#substitution.resolve(this.#check(expr.operand))
    const inner = insideOptional(operand)
    const field = this.#field(inner ?? operand, expr)
    if (expr.presence) return BOOL
    return expr.optional || inner !== undefined ? optionalOf(field) : field
  }

  #isLocal(path: string): boolean {
    const root = path.slice(0, path.indexOf('.'))
    return this.#scope.some(({ name }) => name === root)
  }

  #field(type: Type, expr: Expr & { kind: 'select' }): Type {
    const { field } = expr
    switch (type.kind) {
      case 'dyn':
      case 'parameter':
        return DYN
      case 'map':
        return type.value
      case 'object': {
        const { fields, name } = type.shape
        if (Object.hasOwn(fields, field)) return fields[field]!.type
        const near = findNearest(field, Object.keys(fields))
        const hint = near === undefined ? '' : `; did you mean ${near}?`
        return this.#mistake(`${name} has no field ${field}${hint}`, expr)
      }
      default:
        return this.#mistake(`${typeText(this.#final(type))} has no fields`, expr)
    }
  }

  #call(expr: Expr & { kind: 'call' }): Type {
    const { target, name, args } = expr
    if (name === '_[_]' || name === '_[?_]') return this.#index(expr)
    const prefix = target && qualifiedName(target)
    if (prefix !== undefined && !this.#isLocal(`${prefix}.`)) {
      const qualified = `${prefix}.${name}`
      const overloads = this.#environment.overloads(qualified).filter(({ receiver }) => !receiver)
      if (overloads.length > 0) return this.#overloads(expr, qualified, overloads, args)
    }
    const overloads = this.#environment
      .overloads(name)
      .filter(({ receiver }) => receiver === (target !== undefined))
    if (overloads.length === 0) return this.#unknownFunction(expr)
    return this.#overloads(expr, name, overloads, target === undefined ? args : [target, ...args])
  }

  #unknownFunction(expr: Expr & { kind: 'call' }): Type {
    const { target, name, args } = expr
    for (const arg of args) this.#value(arg)
    if (target !== undefined) {
      const known = qualifiedName(target)
      if (
        known === undefined ||
        this.#isLocal(`${known}.`) ||
        this.#environment.variables.has(known.split('.')[0]!)
      )
        this.#value(target)
    }
    const near = findNearest(name, [...this.#environment.functionNames])
    return this.#mistake(
      `there is no function ${name}${near === undefined ? '' : `; did you mean ${near}?`}`,
      expr,
    )
  }

  #overloads(expr: Expr, name: string, overloads: readonly Overload[], args: readonly Expr[]): Type {
    const types = args.map((arg) => this.#value(arg))
    const fitting: Overload[] = []
    let result: Type | undefined
    for (const overload of overloads) {
      const parameters = new Map<string, Type>()
      const fresh = (type: Type): Type => {
        if (type.kind !== 'parameter') return withParts(type, fresh)
        const known = parameters.get(type.name) ?? this.#substitution.fresh()
        parameters.set(type.name, known)
        return known
      }
      if (!this.#substitution.assign(overload.parameters.map(fresh), types)) continue
      fitting.push(overload)
      const returned = this.#substitution.resolve(fresh(overload.result))
      result = result === undefined || typeText(result) === typeText(returned) ? returned : DYN
    }
    if (result === undefined) {
      const shown = types.map((type) => typeText(this.#final(type))).join(', ')
      return this.#mistake(`${operatorText(name)} cannot be applied to (${shown})`, expr)
    }
    this.#resolutions.set(expr, { kind: 'overloads', overloads: fitting, args })
    return result
  }

  #index(expr: Expr & { kind: 'call' }): Type {
    const [target, key] = expr.args as [Expr, Expr]
    const container = this.#substitution.resolve(this.#check(target))
    const keyType = this.#value(key)
    const inner = insideOptional(container)
    const element = this.#element(inner ?? container, keyType, expr)
    return expr.name === '_[?_]' || inner !== undefined ? optionalOf(element) : element
  }

  #element(container: Type, key: Type, expr: Expr): Type {
    if (container.kind === 'dyn' || container.kind === 'parameter') return DYN
    const expected = container.kind === 'list' ? INT : container.kind === 'map' ? container.key : undefined
    if (expected === undefined || !this.#substitution.assign([expected], [key]))
      return this.#mistake(
        `[] cannot be applied to (${typeText(this.#final(container))}, ${typeText(this.#final(key))})`,
        expr,
      )
    return container.kind === 'list' ? container.inner : (container as Type & { kind: 'map' }).value
  }

  #conditional({ test, then, otherwise, offset }: Expr & { kind: 'conditional' }): Type {
    this.#expect(BOOL, test)
    const [one, other] = [this.#value(then), this.#value(otherwise)]
    if (this.#substitution.assign([one], [other])) return this.#substitution.moreGeneral(one, other)
    const shown = `${typeText(this.#final(one))} and ${typeText(this.#final(other))}`
    return this.#mistake(`the two results of ? : have different types, ${shown}`, { offset })
  }

  #comprehension(expr: Comprehension): Type {
    const { target, variables, condition, transform, macro } = expr
    const range = this.#substitution.resolve(this.#value(target))
    const [first, second] = this.#rangeTypes(range, target)
    const types = variables.length === 1 ? [range.kind === 'list' ? second : first] : [first, second]
    const element = types[0]!
    return this.#within(expr, variables, types, () => {
      if (condition !== undefined) this.#expect(BOOL, condition)
      const result = transform === undefined ? DYN : this.#value(transform)
      switch (macro) {
        case 'all':
        case 'exists':
        case 'existsOne':
          return BOOL
        case 'filter':
        case 'sortBy':
          return listOf(element)
        case 'map':
          return listOf(result)
        case 'transformMap':
          return mapOf(first, result)
        case 'transformMapEntry':
          if (!this.#substitution.assign([mapOf(DYN, DYN)], [result]))
            return this.#mistake(
              `a map was expected instead of ${typeText(this.#final(result))}`,
              transform ?? expr,
            )
          return result
      }
    })
  }

  /** The types of index and element, or of key and value. */
  #rangeTypes(range: Type, target: Expr): readonly [Type, Type] {
    if (range.kind === 'list') return [INT, range.inner]
    if (range.kind === 'map') return [range.key, range.value]
    if (range.kind !== 'dyn' && range.kind !== 'parameter')
      this.#mistake(`a list or map was expected instead of ${typeText(this.#final(range))}`, target)
    return [DYN, DYN]
  }

  #bind(expr: Expr & { kind: 'bind' }): Type {
    const outer = this.#scope
    const locals: Local[] = []
    for (const { name, value } of expr.bindings) {
      const local = { name, type: this.#check(value), slot: this.#slots++ }
      locals.push(local)
      this.#scope = [...this.#scope, local]
    }
    this.#declared.set(expr, locals)
    const type = this.#value(expr.body)
    this.#scope = outer
    return type
  }

  #optMap(expr: Expr & { kind: 'optMap' }): Type {
    const inner = this.#optional(expr.target)
    return this.#within(expr, [expr.variable], [inner], () => {
      if (expr.flat) return optionalOf(this.#optional(expr.body))
      return optionalOf(this.#value(expr.body))
    })
  }

  /** Checks an optional and returns the type inside it. */
  #optional(expr: Expr): Type {
    const inner = this.#substitution.fresh()
    const type = this.#value(expr)
    if (this.#substitution.assign([optionalOf(inner)], [type])) return this.#substitution.resolve(inner)
    return this.#mistake(`an optional was expected instead of ${typeText(this.#final(type))}`, expr)
  }

  #within(expr: Expr, names: readonly string[], types: readonly Type[], run: () => Type): Type {
    const outer = this.#scope
    const locals = names.map((name, index) => ({ name, type: types[index]!, slot: this.#slots++ }))
    this.#declared.set(expr, locals)
    this.#scope = [...outer, ...locals]
    const type = run()
    this.#scope = outer
    return type
  }

  #expect(type: Type, expr: Expr): void {
    const actual = this.#value(expr)
    if (this.#substitution.assign([type], [actual])) return
    this.#mistake(`${typeText(type)} was expected instead of ${typeText(this.#final(actual))}`, expr)
  }

  /** The type of the elements of a literal: dyn when they have different types. */
  #join(types: readonly Type[]): Type {
    const [first, ...others] = types
    if (first === undefined) return this.#substitution.fresh()
    return others.reduce((joined, type) => {
      if (joined.kind === 'dyn') return joined
      return this.#substitution.assign([joined], [type]) ? this.#substitution.moreGeneral(joined, type) : DYN
    }, first)
  }

  #final(type: Type): Type {
    const resolved = this.#substitution.resolve(type)
    return resolved.kind === 'parameter' ? DYN : withParts(resolved, (part) => this.#final(part))
  }

  #mistake(message: string, { offset }: { readonly offset: number }): Type {
    if (this.#mistakes.length < MAX_MISTAKES) this.#mistakes.push(new SourceError(message, offset))
    return DYN
  }
}

function literalType(value: Value): Type {
  if (typeof value === 'boolean') return BOOL
  if (typeof value === 'string') return STRING
  if (isInt(value)) return INT
  if (value instanceof Double) return DOUBLE
  if (value instanceof Uint) return UINT
  return value === null ? NULL : BYTES
}

/** `a.b.c` when the expression is nothing but names and selections. */
function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'name') return expr.name
  if (expr.kind !== 'select' || expr.optional || expr.presence) return undefined
  const operand = qualifiedName(expr.operand)
  return operand === undefined ? undefined : `${operand}.${expr.field}`
}

/** `_+_` is written + in messages. */
const operatorText = (name: string) =>
  name.replaceAll('_', name.startsWith('_') || name.endsWith('_') ? '' : '_')

import type { Value } from './values.ts'

/** A parsed expression. `offset` is where it is in the source. */
export type Expr =
  | Node<'literal', { readonly value: Value }>
  | Node<'name', { readonly name: string }>
  /** `operand.field`; `optional` for `operand.?field`, `presence` inside `has()`. */
  | Node<'select', { operand: Expr; field: string; optional: boolean; presence: boolean }>
  /** A function, operator or method; `target` is the receiver. */
  | Node<'call', { readonly name: string; readonly target?: Expr; readonly args: readonly Expr[] }>
  | Node<'list', { readonly elements: readonly Element[] }>
  | Node<'map', { readonly entries: readonly Entry[] }>
  | Node<'logic', { readonly operator: '&&' | '||'; readonly terms: readonly Expr[] }>
  | Node<'conditional', { readonly test: Expr; readonly then: Expr; readonly otherwise: Expr }>
  | Comprehension
  /** `cel.bind` and `cel.block`: names for values that are evaluated when they are first needed. */
  | Node<'bind', { readonly bindings: readonly Binding[]; readonly body: Expr }>
  /** `optMap` and, when flat, `optFlatMap`. */
  | Node<'optMap', { target: Expr; variable: string; body: Expr; flat: boolean }>

type Node<K extends string, T> = { readonly kind: K; readonly offset: number } & Readonly<T>

export interface Element {
  readonly value: Expr
  /** `[?value]`: left out when the optional is empty. */
  readonly optional: boolean
}

export interface Entry extends Element {
  readonly key: Expr
}

export interface Binding {
  readonly name: string
  readonly value: Expr
}

/** A macro that runs over the elements of a list or the entries of a map. */
export type Comprehension = Node<
  'comprehension',
  {
    macro: 'all' | 'exists' | 'existsOne' | 'filter' | 'map' | 'transformMap' | 'transformMapEntry' | 'sortBy'
    target: Expr
    /** With one variable it is the element or key; with two they are index and element, or key and value. */
    variables: readonly string[]
    /** Which elements count: always there for `all`, `exists`, `existsOne` and `filter`. */
    condition?: Expr
    /** What an element becomes, or is ordered by. */
    transform?: Expr
  }
>

/** The expressions that an expression consists of. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'name':
      return []
    case 'select':
      return [expr.operand]
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    case 'list':
      return expr.elements.map(({ value }) => value)
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case 'logic':
      return expr.terms
    case 'conditional':
      return [expr.test, expr.then, expr.otherwise]
    case 'comprehension':
      return [expr.target, expr.condition, expr.transform].filter((part) => part !== undefined)
    case 'bind':
      return [...expr.bindings.map(({ value }) => value), expr.body]
    case 'optMap':
      return [expr.target, expr.body]
  }
}

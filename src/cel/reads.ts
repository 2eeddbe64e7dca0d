import { childrenOf, type Expr } from './ast.ts'
import type { CheckedExpr } from './check.ts'
import type { Type } from './types.ts'

/** One thing that an expression reads or asks for. */
export type Read =
  /** A declared field; `shape` is the name of the object that has it, `isPresence` inside `has()`. */
  | { readonly kind: 'field'; readonly shape: string; readonly field: string; readonly isPresence: boolean }
  /** A key that has to be there; `map` is how the map is written. */
  | { readonly kind: 'key'; readonly map: string; readonly key: string; readonly text: string }
  /** A question whether the key is there. */
  | { readonly kind: 'question'; readonly map: string; readonly key: string }
  /** A text that keys of a map are compared with. */
  | { readonly kind: 'comparison'; readonly map: string; readonly text: string }

/** Called with each expression of a document once it is checked. */
export type Inspect = (expr: Expr, checked: CheckedExpr) => void

/** Functions that read a key of a map, and those that ask for one. */
const READING_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ['getReqHeader', 'req.headers'],
  ['getResHeader', 'res.headers'],
  ['getQueryParam', 'req.url.query_params'],
  ['getReqCookie', 'req.cookies'],
  ['getResCookie', 'res.cookies'],
])
const ASKING_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  [...READING_FUNCTIONS].map(([name, map]) => [name.replace('get', 'has'), map]),
)

/** Functions that compare their receiver or first argument with a text. */
const COMPARISONS = new Set(['_==_', '_!=_', 'startsWith', 'endsWith', 'contains'])

/** What an expression reads, as far as it is written in it. */
export function readsOf(expr: Expr, checked: CheckedExpr): Read[] {
  const reads: Read[] = []
  const visit = (part: Expr, keys: KeyVariable | undefined): void => {
    if (part.kind === 'select') reads.push(...selectReads(part, checked))
    else if (part.kind === 'call') reads.push(...callReads(part, checked), ...comparedKeys(part, keys))
    const inner = part.kind === 'comprehension' ? withKeys(part, keys) : keys
    for (const child of childrenOf(part)) visit(child, inner)
  }
  visit(expr, undefined)
  return reads
}

/** A variable of a macro that is a key of a map, and those of the macros around it. */
interface KeyVariable {
  readonly name: string
  readonly map: string
  readonly outer: KeyVariable | undefined
}

function withKeys(
  { target, variables: [name = ''] }: Expr & { kind: 'comprehension' },
  outer: KeyVariable | undefined,
): KeyVariable | undefined {
  const map = nameOf(target)
  return map === undefined ? outer : { name, map, outer }
}

/** The type of an expression that the checker has looked at; parts of a qualified name have none. */
function typeOf(expr: Expr, checked: CheckedExpr): Type | undefined {
  return checked.hasType(expr) ? checked.typeOf(expr) : undefined
}

function selectReads(
  { operand, field, presence, optional }: Expr & { kind: 'select' },
  checked: CheckedExpr,
): readonly Read[] {
  const type = typeOf(operand, checked)
  if (type?.kind === 'object')
    return [{ kind: 'field', shape: type.shape.name, field, isPresence: presence || optional }]
  const map = type?.kind === 'map' ? nameOf(operand) : undefined
  if (map === undefined) return []
  if (presence || optional) return [{ kind: 'question', map, key: field }]
  return [{ kind: 'key', map, key: field, text: `${map}.${field}` }]
}

function callReads(expr: Expr & { kind: 'call' }, checked: CheckedExpr): readonly Read[] {
  const { name, args } = expr
  const [first, second] = args
  const asked = ASKING_FUNCTIONS.get(name)
  if (asked !== undefined) return questions(first, asked)
  const cookies = name.endsWith('Cookie') ? READING_FUNCTIONS.get(name) : undefined
  if (cookies !== undefined) return keys(first, cookies, (key) => `${name}('${key}')`)
  if (name === '_in_') return questions(first, second && mapName(second, checked))
  if (name === '_[?_]') return questions(second, first && mapName(first, checked))
  if (name !== '_[_]' || first === undefined) return []
  const map = mapName(first, checked)
  if (map !== undefined) return keys(second, map, (key) => `${map}['${key}']`)
  // The first value of a header that may have none.
  const list = first.kind === 'call' ? READING_FUNCTIONS.get(first.name) : undefined
  if (list === undefined || first.kind !== 'call') return []
  return keys(first.args[0], list, (key) => `${first.name}('${key}')[…]`)
}

function mapName(expr: Expr, checked: CheckedExpr): string | undefined {
  return typeOf(expr, checked)?.kind === 'map' ? nameOf(expr) : undefined
}

const questions = (key: Expr | undefined, map: string | undefined): readonly Read[] => {
  const text = textOf(key)
  return text === undefined || map === undefined ? [] : [{ kind: 'question', map, key: text }]
}

const keys = (key: Expr | undefined, map: string, text: (key: string) => string): readonly Read[] => {
  const name = textOf(key)
  return name === undefined ? [] : [{ kind: 'key', map, key: name, text: text(name) }]
}

/** The texts that a call compares a key with. */
function comparedKeys(
  { name, target, args }: Expr & { kind: 'call' },
  keys: KeyVariable | undefined,
): readonly Read[] {
  const [first, second] = target === undefined ? args : [target, ...args]
  const map = mapOfKey(first, keys) ?? mapOfKey(second, keys)
  if (map === undefined) return []
  const compared = COMPARISONS.has(name) ? [first, second] : []
  const listed = name === '_in_' && second?.kind === 'list' ? second.elements.map(({ value }) => value) : []
  return [...compared, ...listed]
    .flatMap((operand) => textOf(operand) ?? [])
    .map((text) => ({ kind: 'comparison', map, text }))
}

function mapOfKey(expr: Expr | undefined, keys: KeyVariable | undefined): string | undefined {
  if (expr?.kind !== 'name') return undefined
  for (let key = keys; key !== undefined; key = key.outer) if (key.name === expr.name) return key.map
  return undefined
}

const textOf = (expr: Expr | undefined) =>
  expr?.kind === 'literal' && typeof expr.value === 'string' ? expr.value : undefined

/** `a.b.c` when the expression is nothing but names and selections. */
function nameOf(expr: Expr): string | undefined {
  if (expr.kind === 'name') return expr.name
  if (expr.kind !== 'select' || expr.optional || expr.presence) return undefined
  const operand = nameOf(expr.operand)
  return operand === undefined ? undefined : `${operand}.${expr.field}`
}

import type { Comprehension, Expr } from './ast.ts'
import { SourceError } from './diagnostic.ts'

type Call = Expr & { readonly kind: 'call' }

/** Expands a call that is a macro; undefined when it is none. Throws `SourceError` when it is used wrongly. */
export function expandMacro(call: Call): Expr | undefined {
  const { target, name, args, offset } = call
  if (target === undefined) return name === 'has' ? presence(call) : undefined
  if (target.kind === 'name' && target.name === 'cel') return expandCelMacro(call)
  if (target.kind === 'name' && target.name === 'math') return expandVariadic(call)
  if (name === 'optMap' || name === 'optFlatMap') {
    if (args.length !== 2) return undefined
    return {
      kind: 'optMap',
      offset,
      target,
      variable: variableName(args[0]!),
      body: args[1]!,
      flat: name === 'optFlatMap',
    }
  }
  const shape = COMPREHENSIONS.get(`${name}/${args.length}`)
  if (shape === undefined) return undefined
  const variables = args.slice(0, shape.variables).map(variableName)
  if (new Set(variables).size < variables.length)
    throw new SourceError(`${name} needs variables with different names`, args[1]!.offset)
  const rest = args.slice(shape.variables)
  const condition = shape.condition ? rest[0] : undefined
  const transform = shape.transform ? rest.at(-1) : undefined
  return {
    kind: 'comprehension',
    offset,
    macro: shape.macro,
    target,
    variables,
    ...(condition && { condition }),
    ...(transform && { transform }),
  }
}

interface MacroShape {
  readonly macro: Comprehension['macro']
  readonly variables: number
  readonly condition: boolean
  readonly transform: boolean
}

const condition = (macro: MacroShape['macro'], variables: number): MacroShape => ({
  macro,
  variables,
  condition: true,
  transform: false,
})
const transform = (macro: MacroShape['macro'], variables: number, filtered: boolean): MacroShape => ({
  macro,
  variables,
  condition: filtered,
  transform: true,
})

/** By name and number of arguments. */
const COMPREHENSIONS: ReadonlyMap<string, MacroShape> = new Map([
  ['all/2', condition('all', 1)],
  ['all/3', condition('all', 2)],
  ['exists/2', condition('exists', 1)],
  ['exists/3', condition('exists', 2)],
  ['exists_one/2', condition('existsOne', 1)],
  ['existsOne/2', condition('existsOne', 1)],
  ['exists_one/3', condition('existsOne', 2)],
  ['existsOne/3', condition('existsOne', 2)],
  ['filter/2', condition('filter', 1)],
  ['map/2', transform('map', 1, false)],
  ['map/3', transform('map', 1, true)],
  ['transformList/3', transform('map', 2, false)],
  ['transformList/4', transform('map', 2, true)],
  ['transformMap/3', transform('transformMap', 2, false)],
  ['transformMap/4', transform('transformMap', 2, true)],
  ['transformMapEntry/3', transform('transformMapEntry', 2, false)],
  ['transformMapEntry/4', transform('transformMapEntry', 2, true)],
  ['sortBy/2', transform('sortBy', 1, false)],
])

const VARIABLES = [['x'], ['i', 'x']] as const

/** The macros as they are written, on a list or map `e`. */
export function macroForms(): string[] {
  const forms = [...COMPREHENSIONS].map(([key, { variables, condition, transform }]) => {
    const expressions = [...(condition ? ['condition'] : []), ...(transform ? ['value'] : [])]
    return `e.${key.split('/')[0]}(${[...VARIABLES[variables - 1]!, ...expressions].join(', ')})`
  })
  return ['has(e.field)', ...forms]
}

function presence({ args, offset }: Call): Expr {
  const [operand] = args
  if (args.length !== 1 || operand?.kind !== 'select')
    throw new SourceError('has() needs one field, such as has(a.b)', operand?.offset ?? offset)
  return { ...operand, presence: true }
}

function expandCelMacro({ name, args, offset }: Call): Expr | undefined {
  const [first, second, body] = args
  switch (`${name}/${args.length}`) {
    case 'bind/3':
      return { kind: 'bind', offset, bindings: [{ name: variableName(first!), value: second! }], body: body! }
    case 'block/2': {
      if (first!.kind !== 'list') throw new SourceError('cel.block() needs a list of values', first!.offset)
      const bindings = first!.elements.map(({ value }, index) => ({ name: indexName(index), value }))
      return { kind: 'bind', offset, bindings, body: second! }
    }
    case 'index/1':
      return { kind: 'name', offset, name: indexName(ordinal(first!)) }
    case 'iterVar/2':
    case 'accuVar/2':
      return { kind: 'name', offset, name: `@${name}:${ordinal(first!)}:${ordinal(second!)}` }
    default:
      return undefined
  }
}

/** `math.greatest(a, b, c)` is `math.greatest([a, b, c])`. */
function expandVariadic(call: Call): Expr | undefined {
  const { name, args, offset } = call
  if ((name !== 'greatest' && name !== 'least') || args.length < 3) return undefined
  const elements = args.map((value) => ({ value, optional: false }))
  return { ...call, args: [{ kind: 'list', offset, elements }] }
}

const indexName = (index: number) => `@index:${index}`

function ordinal(expr: Expr): number {
  if (expr.kind === 'literal' && typeof expr.value === 'number' && expr.value >= 0) return expr.value
  throw new SourceError('a number was expected', expr.offset)
}

function variableName(expr: Expr): string {
  if (expr.kind === 'name') return expr.name
  throw new SourceError('the name of a variable was expected', expr.offset)
}

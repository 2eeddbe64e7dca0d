import { chargeKey, compare, equal } from '../compare.ts'
import type { CallContext } from '../overload.ts'
import { overload } from '../signature.ts'
import { EvaluationError, type Int, isList, type MapKey, mapKey, typeName, type Value } from '../values.ts'

/** The elements in the order of their keys, which must be of one ordered type. */
export function orderBy(context: CallContext, elements: readonly Value[], keys: readonly Value[]): Value[] {
  const type = keys.length === 0 ? '' : typeName(keys[0]!)
  if (keys.some((key) => typeName(key) !== type))
    throw new EvaluationError('list elements must have the same type')
  return elements
    .map((_, index) => index)
    .sort((one, other) => {
      context.charge(1)
      const order = compare(context, keys[one]!, keys[other]!)
      if (order === undefined) throw new EvaluationError(`no such overload: ${type} has no order`)
      return order
    })
    .map((index) => elements[index]!)
}

function slice(context: CallContext, list: readonly Value[], from: Int, to: Int): Value[] {
  const [start, end] = [Number(from), Number(to)]
  if (start < 0 || start > end || end > list.length)
    throw new EvaluationError(`cannot slice(${from}, ${to}), the list has ${list.length} elements`)
  context.charge(1 + end - start)
  return list.slice(start, end)
}

function flatten(context: CallContext, list: readonly Value[], depth: Int): Value[] {
  if (Number(depth) < 0) throw new EvaluationError('level must be non-negative')
  context.charge(1 + list.length)
  return list.flatMap((element) => {
    if (!isList(element)) return [element]
    context.charge(1 + element.length)
    return Number(depth) > 1 ? flatten(context, element, Number(depth) - 1) : [...element]
  })
}

/** The elements without repetitions, in the order in which they first occur. */
function distinct(context: CallContext, list: readonly Value[]): Value[] {
  const keys = new Set<MapKey>()
  const found: Value[] = []
  const others: Value[] = []
  for (const element of list) {
    context.charge(1)
    const key = mapKey(chargeKey(context, element))
    if (key === undefined) {
      context.charge(1 + others.length)
      if (others.some((other) => equal(context, other, element))) continue
      others.push(element)
    } else if (keys.has(key)) continue
    else keys.add(key)
    found.push(element)
  }
  return found
}

function range(context: CallContext, length: Int): Value[] {
  context.charge(1 + Math.max(0, Number(length)))
  return Array.from({ length: Math.max(0, Number(length)) }, (_, index) => index)
}

/** Functions on lists. */
export const lists = [
  overload('list(A).slice(int, int) -> list(A)', slice),
  overload('list(A).flatten() -> list(dyn)', (context, list: readonly Value[]) => flatten(context, list, 1)),
  overload('list(A).flatten(int) -> list(dyn)', flatten),
  overload('list(A).sort() -> list(A)', (context, list: readonly Value[]) => orderBy(context, list, list)),
  overload('list(A).distinct() -> list(A)', distinct),
  overload('list(A).reverse() -> list(A)', (context, list: readonly Value[]) => {
    context.charge(1 + list.length)
    return list.toReversed()
  }),
  overload('lists.range(int) -> list(int)', range),
]

import { chargeKey, compare, equal } from '../compare.ts'
import type { CallContext } from '../overload.ts'
import { overload } from '../signature.ts'
import { EvaluationError, type MapValue, mapKey, typeName, type Value } from '../values.ts'

const ORDERED = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration']
const NUMERIC = ['int', 'uint', 'double']

const pairs = [
  ...ORDERED.map((type) => [type, type]),
  ...NUMERIC.flatMap((left) => NUMERIC.filter((right) => right !== left).map((right) => [left, right])),
]

const ordering = (operator: string, holds: (order: number) => boolean) =>
  pairs.map(([left, right]) =>
    overload(`_${operator}_(${left}, ${right}) -> bool`, (context, one: Value, other: Value) => {
      const order = compare(context, one, other)
      if (order === undefined)
        throw new EvaluationError(`no such overload: ${typeName(one)} ${operator} ${typeName(other)}`)
      return holds(order)
    }),
  )

const isInList = (context: CallContext, value: Value, list: readonly Value[]): boolean => {
  context.charge(1 + list.length)
  return list.some((element) => equal(context, element, value))
}

/** A list of texts, such as addresses, is looked up in one step however long it is. */
const isInLiteral = ([, list]: readonly (Value | undefined)[]) => {
  if (!Array.isArray(list) || !list.every((element) => typeof element === 'string')) return undefined
  const texts = new Set<Value>(list)
  return (context: CallContext, value: Value) => texts.has(chargeKey(context, value))
}

/** Equality, order and membership. */
export const comparisons = [
  overload('_==_(A, A) -> bool', (context, left: Value, right: Value) => equal(context, left, right)),
  overload('_!=_(A, A) -> bool', (context, left: Value, right: Value) => !equal(context, left, right)),
  ...ordering('<', (order) => order < 0),
  ...ordering('<=', (order) => order <= 0),
  ...ordering('>', (order) => order > 0),
  ...ordering('>=', (order) => order >= 0),
  overload('_in_(A, list(A)) -> bool', isInList, isInLiteral),
  overload('_in_(A, map(A, B)) -> bool', (context, value: Value, map: MapValue) => {
    const key = mapKey(chargeKey(context, value))
    return key !== undefined && map.has(key)
  }),
]

import { equal } from '../compare.ts'
import type { CallContext } from '../overload.ts'
import { overload } from '../signature.ts'
import type { Value } from '../values.ts'

type List = readonly Value[]

const has = (context: CallContext, list: List, value: Value): boolean => {
  context.charge(1 + list.length)
  return list.some((element) => equal(context, element, value))
}

const contains = (context: CallContext, list: List, part: List): boolean =>
  part.every((value) => has(context, list, value))

/** Lists as sets. */
export const sets = [
  overload('sets.contains(list(A), list(A)) -> bool', contains),
  overload(
    'sets.equivalent(list(A), list(A)) -> bool',
    (context, one: List, other: List) => contains(context, one, other) && contains(context, other, one),
  ),
  overload('sets.intersects(list(A), list(A)) -> bool', (context, one: List, other: List) =>
    other.some((value) => has(context, one, value)),
  ),
]

import type { Overload } from '../../cel/index.ts'
import { EvaluationError, overload } from '../../cel/index.ts'
import type { Activation } from '../activation.ts'

const LOOKUP_COST = 10

/** Reads secrets of vaults. The value is the one at the time of the call, so that a new value acts at once. */
export const secretFunctions: readonly Overload[] = [
  overload('secrets.get(string, string) -> string', (context, vault: string, name: string) => {
    context.charge(LOOKUP_COST)
    const value = (context.activation as Activation).secret(vault, name)
    if (value === undefined)
      throw new EvaluationError(`no such secret: ${name.slice(0, 80)} in the vault ${vault.slice(0, 80)}`)
    return value
  }),
]

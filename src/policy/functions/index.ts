/** The functions of policies beside those of CEL, by the phases that have them. */
import type { Overload } from '../../cel/index.ts'
import { hashFunctions } from './hashes.ts'
import { requestMessageFunctions, responseMessageFunctions } from './messages.ts'
import { secretFunctions } from './secrets.ts'
import { textFunctions } from './texts.ts'

export const connectionFunctions: readonly Overload[] = [
  ...textFunctions,
  ...hashFunctions,
  ...secretFunctions,
]
export const requestFunctions: readonly Overload[] = [...connectionFunctions, ...requestMessageFunctions]
export const responseFunctions: readonly Overload[] = [...requestFunctions, ...responseMessageFunctions]

import type { Overload } from '../overload.ts'
import { arithmetic } from './arithmetic.ts'
import { comparisons } from './comparisons.ts'
import { conversions } from './conversions.ts'
import { encoders } from './encoders.ts'
import { format } from './format.ts'
import { lists } from './lists.ts'
import { math } from './math.ts'
import { optionals } from './optionals.ts'
import { sets } from './sets.ts'
import { strings } from './strings.ts'
import { times } from './times.ts'

/** The functions and operators of every environment. */
export const standardLibrary: readonly Overload[] = [
  ...arithmetic,
  ...comparisons,
  ...conversions,
  ...encoders,
  ...format,
  ...lists,
  ...math,
  ...optionals,
  ...sets,
  ...strings,
  ...times,
]

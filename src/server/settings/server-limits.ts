import type { ScryptCost } from '../../dashboard/index.ts'
import type { NameClaimLimits } from '../../naming/index.ts'

/** Timings and costs that tests reduce. */
export interface ServerLimits {
  readonly claims?: Partial<NameClaimLimits>
  /** Grace period during which the names of a lost session stay reserved for its credential. */
  readonly graceMs?: number
  readonly passwordCost?: ScryptCost
}

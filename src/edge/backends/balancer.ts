import type { Target } from '../backend.ts'
import type { Answer } from '../response.ts'

/** A compiled backend: whom a request or connection goes to, and to whom when that one could not be reached. */
export interface Balancer {
  /** Whether somebody would answer right now. */
  isOnline(): boolean
  /** Whom the next request goes to; undefined when nobody is online. */
  pick(): Target | Answer | undefined
  /** The best of those not tried yet; undefined when there is nobody else. */
  pickNext(failedTargets: readonly Target[]): Target | Answer | undefined
}

/** A backend that is not there: what refers to it goes on without it. */
export const emptyBackend: Balancer = {
  isOnline: () => false,
  pick: () => undefined,
  pickNext: () => undefined,
}

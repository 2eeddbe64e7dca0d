import type { UpstreamTarget } from '../contracts/backend.ts'
import type { EdgeResponse } from '../response/response.ts'

/**
 * A compiled backend: picks the target of each request or connection, and the next one when a target is unreachable.
 */
export interface Balancer {
  /** Whether the backend has a target right now. */
  isOnline(): boolean
  /** Picks a target or fixed response for a new request; undefined when none is online. */
  pick(): UpstreamTarget | EdgeResponse | undefined
  /** Picks the best alternative to the targets that failed; undefined when none is left. */
  pickNext(failedTargets: readonly UpstreamTarget[]): UpstreamTarget | EdgeResponse | undefined
}

/** Stands in for a missing backend: whatever references it continues without it. */
export const emptyBackend: Balancer = {
  isOnline: () => false,
  pick: () => undefined,
  pickNext: () => undefined,
}

/** What a worker asks the process that counts for all workers of a server. */
export interface RateLeaseRequest {
  /** The name of the rate limit, the same at every worker. */
  readonly limit: string
  readonly capacity: number
  readonly windowMs: number
  /** Whose requests are counted. */
  readonly key: string
  /** The requests that wait for it. */
  readonly count: number
}

/** Requests that a worker may admit. */
export interface RateLease {
  /** At least as many as waited, unless the limit is reached. */
  readonly count: number
  /** When one more may pass, if the limit is reached. */
  readonly retryAfterMs: number
}

export type TakeRateLease = (request: RateLeaseRequest) => Promise<RateLease>

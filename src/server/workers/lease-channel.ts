import type { RateLease, RateLeaseRequest } from '../../edge/index.ts'

/** Requests without an answer; beyond, as when the control process is stopped, the worker decides by itself. */
const MAX_PENDING = 10_000

/** Asks the control process for leases of rate limits: those of one turn of the event loop in one message. */
export class LeaseChannel {
  readonly #send: (requests: readonly RateLeaseRequest[]) => void
  #unsent: RateLeaseRequest[] = []
  /** Requests that are not answered yet, the oldest first; answers come in the same order. */
  readonly #pending: ((lease: RateLease) => void)[] = []

  constructor(send: (requests: readonly RateLeaseRequest[]) => void) {
    this.#send = send
  }

  async take(request: RateLeaseRequest): Promise<RateLease> {
    if (this.#pending.length >= MAX_PENDING) return { count: request.count, retryAfterMs: 0 }
    if (this.#unsent.length === 0) setImmediate(() => this.#flush())
    this.#unsent.push(request)
    return new Promise((resolve) => this.#pending.push(resolve))
  }

  receive(leases: readonly RateLease[]): void {
    const answered = this.#pending.splice(0, leases.length)
    for (const [index, resolve] of answered.entries()) resolve(leases[index]!)
  }

  #flush(): void {
    const requests = this.#unsent
    this.#unsent = []
    this.#send(requests)
  }
}

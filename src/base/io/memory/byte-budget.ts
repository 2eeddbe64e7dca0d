import { clientKey } from '../../values/client-key.ts'

/** A memory budget of one connection. */
export interface ByteBudget {
  /** Charges bytes. Returns false, and charges nothing, when that exceeds a limit. A negative number refunds. */
  charge(bytes: number): boolean
  refund(bytes: number): void
}

export interface ByteLimits {
  readonly perConnection: number
  readonly perSource: number
  readonly total: number
  /** Addresses many clients share: only the total limits them. */
  readonly isShared?: ((ip: string) => boolean) | undefined
}

/** Bounds the bytes of unfinished messages per connection, per client and in total (decision 120). */
export class ByteBudgets {
  readonly #limits: ByteLimits
  readonly #clients = new Map<string, number>()
  #total = 0

  constructor(limits: ByteLimits) {
    this.#limits = limits
  }

  /** Bytes charged now. */
  get total(): number {
    return this.#total
  }

  /** The budget of one connection from this address. */
  forClient(ip: string): ByteBudget {
    const client = clientKey(ip)
    const isShared = this.#limits.isShared?.(ip) === true
    let charged = 0
    const add = (bytes: number): void => {
      charged += bytes
      this.#total += bytes
      const remaining = (this.#clients.get(client) ?? 0) + bytes
      if (remaining === 0) this.#clients.delete(client)
      else this.#clients.set(client, remaining)
    }
    return {
      charge: (bytes) => {
        const { perConnection, perSource, total } = this.#limits
        if (charged + bytes > perConnection || this.#total + bytes > total) return false
        if (!isShared && (this.#clients.get(client) ?? 0) + bytes > perSource) return false
        add(bytes)
        return true
      },
      refund: (bytes) => add(-bytes),
    }
  }
}

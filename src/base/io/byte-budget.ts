import { sourceOf } from '../client-key.ts'

/** Memory that may be charged up to some limit. */
export interface ByteBudget {
  /** Charges so many bytes; false when that exceeds a limit, and then nothing is charged. A negative number gives back. */
  charge(bytes: number): boolean
  refund(bytes: number): void
}

export interface ByteLimits {
  readonly perConnection: number
  readonly perSource: number
  readonly total: number
  /** Addresses that many clients come from: only the total limits them. */
  readonly isShared?: ((ip: string) => boolean) | undefined
}

/** Bounds the bytes of unfinished messages: of each connection, of all connections of a source, and of all sources. */
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

  /** The budget of one connection. */
  of(ip: string): ByteBudget {
    const client = sourceOf(ip)
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

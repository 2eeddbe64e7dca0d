import { sourceOf } from '../client-key.ts'

/** Memory that may be charged up to some limit. */
export interface ByteBudget {
  /** Charges so many bytes; false when that exceeds a limit, and then nothing is charged. A negative number gives back. */
  take(bytes: number): boolean
  give(bytes: number): void
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
  readonly #sources = new Map<string, number>()
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
    const source = sourceOf(ip)
    const isShared = this.#limits.isShared?.(ip) === true
    let held = 0
    const charge = (bytes: number): void => {
      held += bytes
      this.#total += bytes
      const left = (this.#sources.get(source) ?? 0) + bytes
      if (left === 0) this.#sources.delete(source)
      else this.#sources.set(source, left)
    }
    return {
      take: (bytes) => {
        const { perConnection, perSource, total } = this.#limits
        if (held + bytes > perConnection || this.#total + bytes > total) return false
        if (!isShared && (this.#sources.get(source) ?? 0) + bytes > perSource) return false
        charge(bytes)
        return true
      },
      give: (bytes) => charge(-bytes),
    }
  }
}

import type { ByteBudget } from '../base/io/byte-budget.ts'

const MIB = 1024 * 1024

/** Bounds the large bodies that wait for their clients. */
export const OWN_BODY_LIMITS = { perConnection: 32 * MIB, perSource: 32 * MIB, total: 128 * MIB }

/** A body of the edge itself up to this size is written at once: the buffers of a client hold as much anyway. */
const MAX_WRITE_BYTES = 64 * 1024

/**
 * A larger body of the edge itself, such as that of `custom-response`. It is written as the client takes it, and what is
 * left is charged, so that clients that do not read cannot fill the memory (decision 285).
 */
export class OwnBody {
  readonly #budget: ByteBudget
  readonly #size: number
  #rest: Buffer
  /** The head of the response is written. */
  started = false
  /** Called when everything is written. */
  onWritten: (() => void) | undefined

  private constructor(body: Buffer, budget: ByteBudget) {
    this.#rest = body
    this.#size = body.length
    this.#budget = budget
  }

  /** Whether a body need not wait. */
  static isSmall = (body: Buffer): boolean => body.length <= MAX_WRITE_BYTES

  /** Charges for the body; undefined when that exceeds the budget. */
  static hold(body: Buffer, budget: ByteBudget): OwnBody | undefined {
    return budget.charge(body.length) ? new OwnBody(body, budget) : undefined
  }

  /** The next part to write; undefined when everything is written. */
  next(): Buffer | undefined {
    if (this.#rest.length === 0) return undefined
    const part = this.#rest.subarray(0, MAX_WRITE_BYTES)
    this.#rest = this.#rest.subarray(part.length)
    return part
  }

  release(): void {
    this.#budget.refund(this.#size)
  }
}

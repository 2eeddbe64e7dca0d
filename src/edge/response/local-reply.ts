import type { ByteBudget } from '../../base/io/memory/byte-budget.ts'
import type { ByteSource } from '../../base/io/streams/coalescing-writer.ts'

const MIB = 1024 * 1024

/** Bounds the large bodies that wait for their clients. */
export const LOCAL_REPLY_LIMITS = { perConnection: 32 * MIB, perSource: 32 * MIB, total: 128 * MIB }

/** A body of the edge itself up to this size is not charged: the page of an error has to be sent in any case. */
const MAX_SMALL_BYTES = 16 * 1024

/** What is written at once. */
const PART_BYTES = 64 * 1024

/**
 * A larger body of a local reply, as Envoy calls what a proxy responds with itself, such as that of `custom-response`. It is written as the client takes it, and what the
 * client has not taken is charged, so that clients that do not read cannot fill the memory (decision 120).
 */
export class LocalReplyBody implements ByteSource {
  readonly #budget: ByteBudget
  #rest: Buffer
  /** The head of the response is written. */
  started = false
  /** Called when everything is written. */
  onWritten: (() => void) | undefined

  private constructor(body: Buffer, budget: ByteBudget) {
    this.#rest = body
    this.#budget = budget
  }

  /** Whether a body need not wait. */
  static isSmall = (body: Buffer): boolean => body.length <= MAX_SMALL_BYTES

  /** Charges for the body; undefined when that exceeds the budget. */
  static hold(body: Buffer, budget: ByteBudget): LocalReplyBody | undefined {
    return budget.charge(body.length) ? new LocalReplyBody(body, budget) : undefined
  }

  /** The next part to write, charged until it is consumed; undefined when everything is written. */
  next(): Buffer | undefined {
    if (this.#rest.length === 0) return undefined
    const part = this.#rest.subarray(0, PART_BYTES)
    this.#rest = this.#rest.subarray(part.length)
    return part
  }

  /** The client has taken what was written. */
  consumed(bytes: number): void {
    this.#budget.refund(bytes)
  }

  /** Drops what is not written. */
  release(): void {
    this.consumed(this.#rest.length)
    this.#rest = this.#rest.subarray(this.#rest.length)
  }
}

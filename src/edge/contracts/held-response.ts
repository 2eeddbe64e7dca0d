import { TimerEntry } from '../../base/io/memory/timer-wheel.ts'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { edgeError } from '../errors.ts'
import type { Exchange } from './exchange.ts'

interface Reader {
  readonly limit: number
  resolve(body: Buffer | undefined): void
  reject(error: Error): void
}

/** A response body is larger than the step that reads it can hold. */
export class ResponseTooLarge extends Error {
  override name = 'ResponseTooLarge'
}

/**
 * The body of a response whose head is not sent yet, because a response step waits. Without a reader the upstream is not
 * credited, so that it holds one window at most.
 */
export class HeldResponse extends TimerEntry {
  /** Set when the upstream has sent everything. */
  trailers: string | undefined = undefined
  readonly #exchange: Exchange
  readonly #body: ByteQueue
  #reader: Reader | undefined

  constructor(exchange: Exchange) {
    super()
    const { runtime, connection } = exchange
    this.#exchange = exchange
    this.#body = new ByteQueue(undefined, runtime.heldBodyBudgets.forClient(connection.remoteAddress))
  }

  /** Whether a step reads the body, so that the upstream should go on sending. */
  get isRead(): boolean {
    return this.#reader !== undefined
  }

  push(chunk: Buffer): void {
    if (!this.#body.push(chunk)) this.#exchange.reject(edgeError('too_many_bodies'))
    else this.#checkLimit()
  }

  end(trailers: string): void {
    this.trailers = trailers
    this.#settle()?.resolve(this.#body.bytes)
  }

  /** The complete body; undefined when the exchange has ended before. Rejects with `ResponseTooLarge`. */
  read(limit: number): Promise<Buffer | undefined> {
    if (this.trailers !== undefined && this.#body.length <= limit) return Promise.resolve(this.#body.bytes)
    const { runtime } = this.#exchange
    return new Promise((resolve, reject) => {
      this.#reader = { limit, resolve, reject }
      runtime.timers.set(this, runtime.limits.heldBody)
      this.#checkLimit()
    })
  }

  /** Hands over what has arrived. */
  take(): Buffer {
    return this.#body.take()
  }

  /** The exchange has ended, or responds with an error. */
  drop(): void {
    this.#settle()?.resolve(undefined)
    this.#body.clear()
  }

  onDeadline(): void {
    const { runtime, head } = this.#exchange
    const seconds = runtime.timers.milliseconds(runtime.limits.heldBody) / 1000
    this.#exchange.reject(
      edgeError('upstream_timeout', head.host, `did not send its whole body within ${seconds} s`),
    )
  }

  #checkLimit(): void {
    const { limit } = this.#reader ?? {}
    if (limit !== undefined && this.#body.length > limit)
      this.#settle()?.reject(new ResponseTooLarge(`the response body has more than ${limit / 1024} KiB`))
  }

  #settle(): Reader | undefined {
    const reader = this.#reader
    this.#reader = undefined
    this.#exchange.runtime.timers.clear(this)
    return reader
  }
}

import { TimerEntry } from '../../base/io/memory/timer-wheel.ts'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { edgeError } from '../errors.ts'
import type { Exchange } from './exchange.ts'
import type { Upstream } from './upstream.ts'

const MIB = 1024 * 1024

/** Memory budgets of held bodies (decision 120). A body is at most 1 MiB, so that many webhooks of one sender fit. */
export const HELD_BODY_LIMITS = { perConnection: 32 * MIB, perSource: 32 * MIB, total: 128 * MIB }

/** A request body that can be sent again, to a second upstream when the first could not be reached. */
export interface BodySource {
  sendTo(upstream: Upstream): void
}

/**
 * A request body held until a module has read it. It acts as the exchange's upstream while the body arrives, then sends
 * it to the real upstream, or to a second one when the first could not be reached.
 */
export class HeldBody extends TimerEntry implements Upstream, BodySource {
  readonly reused = false
  readonly retainsChunks = false
  /** Resolves with the complete body; with undefined when the client disconnected before. */
  readonly completion: Promise<Buffer | undefined>
  readonly #exchange: Exchange
  readonly #limit: number
  readonly #buffer: ByteQueue
  #trailers = ''
  #replacement: Buffer | undefined
  #resolve: (body: Buffer | undefined) => void = () => {}

  constructor(exchange: Exchange, limit: number) {
    super()
    const { runtime, connection } = exchange
    this.#exchange = exchange
    this.#limit = limit
    this.#buffer = new ByteQueue(limit, runtime.heldBodyBudgets.forClient(connection.remoteAddress))
    this.completion = new Promise((resolve) => {
      this.#resolve = resolve
    })
    runtime.timers.set(this, runtime.limits.heldBody)
    exchange.onFinish(() => {
      runtime.timers.clear(this)
      this.#buffer.take()
    })
  }

  writeBody(chunk: Buffer): boolean {
    if (this.#buffer.length + chunk.length > this.#limit) this.#exchange.reject(tooLarge(this.#limit))
    else if (!this.#buffer.push(chunk)) this.#exchange.reject(edgeError('too_many_bodies'))
    return true
  }

  endBody(trailers: string): void {
    this.#trailers = trailers
    this.#exchange.runtime.timers.clear(this)
    // Nothing was sent yet, so a retry with another target is safe.
    this.#exchange.bodySent = false
    this.#resolve(this.#buffer.bytes)
  }

  /** What the upstream gets. */
  get body(): Buffer {
    return this.#replacement ?? this.#buffer.bytes
  }

  replace(body: Buffer): void {
    this.#replacement = body
  }

  /** Reads the body again, for another module. */
  async read(limit: number): Promise<Buffer | undefined> {
    if ((await this.completion) === undefined) return undefined
    if (this.body.length > limit) throw tooLarge(limit)
    return this.body
  }

  abort(): void {
    this.#resolve(undefined)
  }

  consumed(): void {}

  onDeadline(): void {
    this.#exchange.reject(edgeError('body_timeout'))
  }

  sendTo(upstream: Upstream): void {
    const { body } = this
    if (body.length > 0) upstream.writeBody(body)
    upstream.endBody(this.#trailers)
  }
}

/** Reads a request body up to the limit before it is forwarded; undefined when the client disconnects. */
export function holdBody(exchange: Exchange, limit: number): Promise<Buffer | undefined> | Buffer {
  if (!exchange.hasBody) return Buffer.alloc(0)
  if (exchange.heldBody instanceof HeldBody) return exchange.heldBody.read(limit)
  const { framing } = exchange.head
  if (framing.contentLength > limit) throw tooLarge(limit)
  const heldBody = new HeldBody(exchange, limit)
  exchange.heldBody = heldBody
  exchange.upstream = heldBody
  if (framing.expectContinue) {
    exchange.writeInterim(100, 'Continue', '')
    // The edge has answered the expectation, so the upstream gets the body without it.
    framing.expectContinue = false
  }
  return heldBody.completion
}

/** Changes a body that `holdBody` has read. */
export function replaceHeldBody({ heldBody, head: { framing } }: Exchange, body: Buffer): void {
  if (heldBody instanceof HeldBody) heldBody.replace(body)
  if (!framing.chunked) framing.contentLength = body.length
}

function tooLarge(limit: number) {
  return edgeError('body_too_large', `${limit / 1024} KiB`)
}

import type { Exchange } from './exchange.ts'
import { refusal } from './refusals.ts'
import type { Upstream } from './upstream.ts'

/** Body bytes that can be sent, to a second upstream when the first could not be reached. */
export interface BodySource {
  sendTo(upstream: Upstream): void
}

/**
 * A request body kept back until a module has seen all of it. It stands in for the upstream while the body arrives, and
 * is handed to the real one, or to a second one when the first could not be reached.
 */
export class HeldBody implements Upstream, BodySource {
  readonly reused = false
  /** The whole body; undefined when the visitor left before. */
  readonly whole: Promise<Buffer | undefined>
  readonly #exchange: Exchange
  readonly #limit: number
  readonly #pieces: Buffer[] = []
  #size = 0
  #trailers = ''
  #settle: (body: Buffer | undefined) => void = () => {}

  constructor(exchange: Exchange, limit: number) {
    this.#exchange = exchange
    this.#limit = limit
    this.whole = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  body(piece: Buffer): boolean {
    this.#size += piece.length
    if (this.#size > this.#limit) this.#exchange.refuse(tooLarge(this.#limit))
    else this.#pieces.push(Buffer.from(piece))
    return true
  }

  end(trailers: string): void {
    this.#trailers = trailers
    const body = Buffer.concat(this.#pieces)
    this.#pieces.length = 0
    this.#pieces.push(body)
    // Nothing has left yet, so another target may still be tried.
    this.#exchange.bodySent = false
    this.#settle(body)
  }

  abort(): void {
    this.#settle(undefined)
  }

  consumed(): void {}

  sendTo(upstream: Upstream): void {
    for (const piece of this.#pieces) upstream.body(piece)
    upstream.end(this.#trailers)
  }
}

/** Reads the whole body of a request, up to the limit, before it is sent on; undefined when the visitor leaves. */
export function holdBody(exchange: Exchange, limit: number): Promise<Buffer | undefined> | Buffer {
  if (!exchange.hasBody) return Buffer.alloc(0)
  const { facts } = exchange.head
  if (facts.length > limit) throw tooLarge(limit)
  const held = new HeldBody(exchange, limit)
  exchange.held = held
  exchange.upstream = held
  if (facts.expectContinue) {
    exchange.writeInterim(100, 'Continue', '')
    // The upstream gets the body without having to ask for it.
    facts.expectContinue = false
  }
  return held.whole
}

function tooLarge(limit: number) {
  return refusal('body_too_large', `${limit / 1024} KiB`)
}

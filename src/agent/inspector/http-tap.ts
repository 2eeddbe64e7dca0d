import type { Clock } from '../../base/clock.ts'
import {
  type Framing,
  type Head,
  MessageScanner,
  requestFraming,
  responseFraming,
  statusOf,
} from '../http1.ts'
import type { Meter } from '../metrics.ts'
import type { Capture, CaptureStore } from './capture-store.ts'

/** What a tap needs of the tunnel it listens on. */
export interface TapContext {
  tunnelName: string
  remoteAddr: string
  meter: Meter
  /** Undefined when requests are counted but not kept. */
  store: CaptureStore | undefined
  clock: Clock
  /** Told of the head of every final response with the beginning of its body, for hints about common mistakes. */
  onAnswer?: (status: number, bodyStart: Buffer) => void
}

/** A request under way. */
interface Exchange {
  method: string
  began: number
  capture: Capture | undefined
}

/**
 * Listens to both directions of one HTTP/1 connection and records its exchanges. It sees bytes after they were
 * passed on and answers nothing, so it can neither slow nor stall them.
 */
export class HttpTap {
  readonly #context: TapContext
  readonly #requests: MessageScanner
  readonly #responses: MessageScanner
  readonly #waiting: Exchange[] = []
  #sending: Exchange | undefined
  #answering: Exchange | undefined
  #interim = false
  #status = 0

  constructor(context: TapContext) {
    this.#context = context
    this.#requests = new MessageScanner({
      head: (bytes, head) => this.#requestHead(bytes, head),
      body: (bytes) =>
        this.#sending?.capture && this.#context.store?.requestBody(this.#sending.capture, bytes),
      end: () => {
        this.#sending = undefined
      },
      raw: () => {},
    })
    this.#responses = new MessageScanner({
      head: (bytes, head) => this.#responseHead(bytes, head),
      body: (bytes) => this.#responseBody(bytes),
      end: () => this.#responseEnd(),
      raw: () => {},
    })
  }

  request(chunk: Buffer): void {
    this.#requests.push(chunk)
  }

  response(chunk: Buffer): void {
    this.#responses.push(chunk)
  }

  /** The upstream has sent everything. */
  responseFinished(): void {
    this.#responses.finish()
  }

  /** The connection is gone: whatever is under way did not come to its end. */
  close(): void {
    const why = 'the connection ended before the answer was complete'
    for (const exchange of this.#waiting.splice(0)) this.#abandon(exchange, why)
    if (this.#answering) this.#abandon(this.#answering, why)
    this.#answering = undefined
  }

  #requestHead(bytes: Buffer, head: Head): Framing {
    const framing = requestFraming(head)
    if (framing === 'stop') return framing
    const { store, meter, clock, tunnelName, remoteAddr } = this.#context
    const began = meter.begin()
    const capture = store?.begin(tunnelName, remoteAddr, bytes, clock.now())
    const exchange: Exchange = { method: head.line.slice(0, head.line.indexOf(' ')), began, capture }
    this.#sending = exchange
    this.#waiting.push(exchange)
    return framing
  }

  #responseHead(bytes: Buffer, head: Head): Framing {
    const exchange = this.#waiting[0]
    if (!exchange) return 'stop'
    const status = statusOf(head.line)
    this.#interim = status >= 100 && status < 200 && status !== 101
    if (this.#interim) return 0
    const framing = responseFraming(head, exchange.method)
    if (status === 0) return framing
    this.#waiting.shift()
    this.#answering = exchange
    this.#status = status
    if (exchange.capture) this.#context.store?.respond(exchange.capture, bytes, this.#elapsedNs(exchange))
    if (framing === 'stop') {
      // An upgrade: what follows in both directions is the other protocol's.
      this.#requests.stop()
      this.#responseEnd()
    }
    return framing
  }

  #responseBody(bytes: Buffer): void {
    const exchange = this.#answering
    if (!exchange) return
    if (this.#status !== 0) this.#context.onAnswer?.(this.#status, bytes)
    this.#status = 0
    if (exchange.capture) this.#context.store?.responseBody(exchange.capture, bytes)
  }

  #responseEnd(): void {
    if (this.#interim) {
      this.#interim = false
      return
    }
    const exchange = this.#answering
    if (!exchange) return
    this.#answering = undefined
    this.#context.meter.end(exchange.began)
    if (exchange.capture) this.#context.store?.end(exchange.capture, this.#elapsedNs(exchange))
  }

  #abandon(exchange: Exchange, why: string): void {
    this.#context.meter.drop()
    if (exchange.capture) this.#context.store?.end(exchange.capture, this.#elapsedNs(exchange), why)
  }

  #elapsedNs(exchange: Exchange): number {
    return Math.round((this.#context.clock.monotonic() - exchange.began) * 1e6)
  }
}

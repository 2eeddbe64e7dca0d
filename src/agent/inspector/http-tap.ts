import type { Clock } from '../../base/values/clock.ts'
import {
  type Framing,
  type MessageEvents,
  type MessageHead,
  MessageScanner,
  parseHeaderFields,
  parseStatus,
  requestFraming,
  responseFraming,
} from '../http1.ts'
import type { Meter } from '../metrics.ts'
import type { Capture, CaptureStore } from './capture-store.ts'
import { EventScanner } from './event-scanner.ts'
import { type CapturedAction, readPolicyNote } from './policy-actions.ts'
import { isWebSocket, WebSocketTap } from './websocket-tap.ts'

/** The tunnel a tap listens on, and where its captures go. */
export interface TapContext {
  tunnelName: string
  remoteAddr: string
  meter: Meter
  /** Undefined if requests are counted but not captured. */
  store: CaptureStore | undefined
  clock: Clock
  /** Called for every final response with a body, with the first chunk of it; used for hints about common mistakes. */
  onResponse?: (status: number, bodyStart: Buffer) => void
}

/** An exchange in flight. */
interface Exchange {
  method: string
  startTime: number
  capture: Capture | undefined
}

/**
 * Observes both directions of one HTTP/1 connection and captures its exchanges. The tap never writes to the connection
 * and applies no back-pressure, so it cannot stall traffic.
 */
export class HttpTap {
  readonly #context: TapContext
  readonly #requests: MessageScanner
  readonly #responses: MessageScanner
  readonly #pending: Exchange[] = []
  #requestExchange: Exchange | undefined
  #responseExchange: Exchange | undefined
  readonly #responseEvents: MessageEvents
  #interim = false
  #status = 0
  #webSocket: WebSocketTap | undefined
  /** Requests so far, and the captures of the last two: a note may come after the next request. */
  #requestCount = 0
  #latest: Capture | undefined
  #previous: Capture | undefined
  /** The actions of the next request: a note may come before it. */
  #nextActions: readonly CapturedAction[] = []
  /** The capture whose frames are being scanned. */
  #framedCapture: Capture | undefined

  constructor(context: TapContext) {
    this.#context = context
    this.#requests = new MessageScanner({
      head: (bytes, head) => this.#requestHead(bytes, head),
      body: (bytes) =>
        this.#requestExchange?.capture &&
        this.#context.store?.addRequestBody(this.#requestExchange.capture, bytes),
      end: () => {
        const exchange = this.#requestExchange
        if (exchange?.capture) {
          exchange.capture.request.arriving = false
          exchange.capture.requestNs = this.#elapsedNs(exchange)
        }
        this.#requestExchange = undefined
      },
      raw: (bytes) => this.#webSocket?.push('client', bytes),
    })
    this.#responseEvents = {
      head: (bytes, head) => this.#responseHead(bytes, head),
      body: (bytes) => this.#responseBody(bytes),
      data: undefined,
      end: () => this.#responseEnd(),
      raw: (bytes) => this.#webSocket?.push('server', bytes),
    }
    this.#responses = new MessageScanner(this.#responseEvents)
  }

  pushRequest(chunk: Buffer): void {
    this.#requests.push(chunk)
  }

  pushResponse(chunk: Buffer): void {
    this.#responses.push(chunk)
  }

  /** A note of the server about a request of this connection. */
  addNote(payload: Buffer): void {
    const note = readPolicyNote(payload)
    if (note === undefined) return
    const age = this.#requestCount - note.request
    if (age === -1) this.#nextActions = note.actions
    const capture = age === 0 ? this.#latest : age === 1 ? this.#previous : undefined
    if (capture) this.#context.store?.addActions(capture, note.actions)
  }

  /** The upstream has ended its side. */
  finishResponse(): void {
    this.#responses.finish()
  }

  /** The connection closed: exchanges still in flight failed. */
  close(): void {
    const reason = 'the connection ended before the response was complete'
    const { request } = this.#requestExchange?.capture ?? {}
    if (request?.arriving) {
      request.arriving = false
      request.truncated = true
    }
    for (const exchange of this.#pending.splice(0)) this.#abandon(exchange, reason)
    if (this.#responseExchange) this.#abandon(this.#responseExchange, reason)
    this.#responseExchange = undefined
    this.#endFrames()
  }

  #requestHead(bytes: Buffer, head: MessageHead): Framing {
    const framing = requestFraming(head)
    if (framing === 'stop') return framing
    const { store, meter, clock, tunnelName, remoteAddr } = this.#context
    const startTime = meter.begin()
    const capture = store?.begin(tunnelName, remoteAddr, bytes, clock.now())
    const exchange: Exchange = { method: head.line.slice(0, head.line.indexOf(' ')), startTime, capture }
    if (capture) capture.request.arriving = true
    this.#requestCount++
    this.#previous = this.#latest
    this.#latest = capture
    if (capture && this.#nextActions.length > 0) store?.addActions(capture, this.#nextActions)
    this.#nextActions = []
    this.#requestExchange = exchange
    this.#pending.push(exchange)
    return framing
  }

  #responseHead(bytes: Buffer, head: MessageHead): Framing {
    const exchange = this.#pending[0]
    if (!exchange) return 'stop'
    const status = parseStatus(head.line)
    this.#interim = status >= 100 && status < 200 && status !== 101
    if (this.#interim) return 0
    const framing = responseFraming(head, exchange.method)
    if (status === 0) return framing
    this.#pending.shift()
    this.#responseExchange = exchange
    this.#status = status
    if (exchange.capture) this.#context.store?.addResponse(exchange.capture, bytes, this.#elapsedNs(exchange))
    if (framing === 'stop') {
      // An upgrade: from here on, both directions carry another protocol.
      this.#responseEnd()
      if (exchange.capture && status === 101 && isWebSocket(bytes))
        this.#readMessages(exchange.capture, bytes)
      this.#requests.stop()
    } else if (exchange.capture && isEventStream(bytes, head.text)) this.#readEvents(exchange.capture)
    return framing
  }

  #readMessages(capture: Capture, head: Buffer): void {
    const { store, clock } = this.#context
    if (!store) return
    this.#framedCapture = capture
    this.#webSocket = new WebSocketTap(head, {
      copier: store.copier,
      now: () => clock.now(),
      onFrame: (frame) => store.addFrame(capture, frame),
      onInvalid: () => store.endFrames(capture, 'the data that followed is not WebSocket (RFC 6455)'),
    })
    store.beginFrames(capture, this.#webSocket.reservedBytes)
  }

  #readEvents(capture: Capture): void {
    const { store, clock } = this.#context
    if (!store) return
    store.beginFrames(capture)
    this.#framedCapture = capture
    const scanner = new EventScanner(({ event, id, data, size, truncated }) => {
      const payload = store.copier.copy(Buffer.from(data))
      const stored = store.addFrame(capture, {
        time: clock.now(),
        from: 'server',
        kind: 'event',
        size,
        payload,
        truncated,
        event,
        ...(id === '' ? {} : { eventId: id }),
      })
      if (!stored) this.#responseEvents.data = undefined
    })
    this.#responseEvents.data = (bytes) => scanner.push(bytes)
  }

  #endFrames(): void {
    this.#responseEvents.data = undefined
    if (this.#framedCapture) this.#context.store?.endFrames(this.#framedCapture)
    this.#framedCapture = undefined
  }

  #responseBody(bytes: Buffer): void {
    const exchange = this.#responseExchange
    if (!exchange) return
    if (this.#status !== 0) this.#context.onResponse?.(this.#status, bytes)
    this.#status = 0
    if (exchange.capture) this.#context.store?.addResponseBody(exchange.capture, bytes)
  }

  #responseEnd(): void {
    if (this.#interim) {
      this.#interim = false
      return
    }
    const exchange = this.#responseExchange
    if (!exchange) return
    this.#responseExchange = undefined
    this.#endFrames()
    this.#context.meter.end(exchange.startTime)
    if (exchange.capture) this.#context.store?.end(exchange.capture, this.#elapsedNs(exchange))
  }

  #abandon(exchange: Exchange, reason: string): void {
    this.#context.meter.drop()
    if (exchange.capture) this.#context.store?.end(exchange.capture, this.#elapsedNs(exchange), reason)
  }

  #elapsedNs(exchange: Exchange): number {
    return Math.round((this.#context.clock.monotonic() - exchange.startTime) * 1e6)
  }
}

/** True for a response with an uncompressed event stream as its body. */
function isEventStream(head: Buffer, text: string): boolean {
  // A cheap check first: almost no response is an event stream.
  if (!text.includes('event-stream')) return false
  const fields = new Map(
    parseHeaderFields(head).map(([name, value]) => [name.toLowerCase(), value.toLowerCase()]),
  )
  const plain = /^(identity)?$/.test(fields.get('content-encoding') ?? '')
  return plain && /^text\/event-stream[ \t]*(;|$)/.test(fields.get('content-type') ?? '')
}

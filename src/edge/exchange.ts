import { STATUS_CODES } from 'node:http'
import type { Transform } from 'node:stream'
import { fanOut } from '../base/fan-out.ts'
import type { Target } from './backend.ts'
import type { Connection } from './connection.ts'
import type { Core } from './core.ts'
import type { Refusal } from './errors.ts'
import type { BodySource } from './held-body.ts'
import { Fields } from './message/fields.ts'
import type { RequestHead } from './message/request-head.ts'
import type { RequestTrace } from './observe.ts'
import { type Answer, answerRefusal } from './response.ts'
import type { HttpEntry, Route } from './table.ts'
import { TransformFeed } from './transform-writer.ts'
import type { Upstream } from './upstream/upstream.ts'

/** The start of a response as modules see and change it. */
export interface Response {
  status: number
  readonly fields: Fields
  /** Declared length of the body, -1 when it is not known. */
  length: number
  /** False for HEAD, 204 and 304. */
  readonly hasBody: boolean
  /** Set to send the body through this instead; `length` becomes unknown then. */
  through: Transform | undefined
}

/** How an exchange ended. */
export interface ExchangeResult {
  /** 0 when no response was begun. */
  readonly status: number
  readonly error: Refusal | undefined
  /** False when the visitor did not get all of it. */
  readonly complete: boolean
}

/**
 * One request with its response, between a visitor and whoever answers. The visitor's protocol is in the subclass, the
 * upstream's behind `Upstream`; modules act through the methods here.
 */
export abstract class Exchange {
  readonly core: Core
  readonly connection: Connection
  readonly head: RequestHead
  entry: HttpEntry | undefined = undefined
  route: Route | undefined = undefined
  upstream: Upstream | undefined = undefined
  /** The Host the upstream gets. */
  authority: string
  /** The request asks for WebSocket. */
  upgrading = false
  /** The targets that could not be connected to. */
  tried: Target[] | undefined = undefined
  /** It was sent a second time, which happens once at most (P31). */
  resent = false
  /** Request body that was read and has not left: whoever is connected to gets it first. */
  held: BodySource | undefined = undefined
  /** A byte of the request body has left: what follows cannot be repeated. */
  bodySent = false
  /** The response has begun. */
  responded = false
  /** Nothing more may happen: the response was delivered, or the visitor is gone. */
  ended = false
  /** Gathered only when somebody wants to be told. */
  trace: RequestTrace | undefined = undefined
  #status = 0
  #error: Refusal | undefined = undefined
  #headerFields: Fields | undefined = undefined
  #responseSteps: ((response: Response) => void)[] | undefined = undefined
  #finishListeners: ((result: ExchangeResult) => void)[] | undefined = undefined
  #transformWriter: TransformFeed | undefined = undefined
  #transformUncredited = 0

  constructor(core: Core, connection: Connection, head: RequestHead) {
    this.core = core
    this.connection = connection
    this.head = head
    this.authority = head.authority
  }

  /** The request's fields; what modules change here is what the upstream gets. */
  get fields(): Fields {
    this.#headerFields ??= new Fields(this.head.facts.fieldLines)
    return this.#headerFields
  }

  /** The request's field lines as they are to be sent. */
  get fieldLines(): string {
    return this.#headerFields === undefined ? this.head.facts.fieldLines : this.#headerFields.text
  }

  /** Whether the request carries a body. */
  get hasBody(): boolean {
    return this.head.facts.chunked || this.head.facts.contentLength > 0
  }

  /** Calls back when the response begins, in the reverse order of the modules, as on the way out. */
  whenAnswered(step: (response: Response) => void): void {
    this.#responseSteps ??= []
    this.#responseSteps.unshift(step)
  }

  /** Calls back once when all is over. */
  whenFinished(listener: (result: ExchangeResult) => void): void {
    this.#finishListeners ??= []
    this.#finishListeners.push(listener)
  }

  /** Notes a decision for the request's event, if somebody wants it. */
  note(key: string, value: string | number): void {
    if (this.trace !== undefined) this.trace.notes[key] = value
  }

  /** The response begins. `fields` are lines without framing; `length` is -1 when the body's length is not known. */
  respond(status: number, reason: string, fields: string, length: number, hasBody: boolean): void {
    if (this.ended || this.responded) return
    this.responded = true
    if (this.#responseSteps !== undefined) {
      this.#respondWithSteps(status, reason, fields, length, hasBody)
      return
    }
    this.#recordStatus(status)
    if (this.trace !== undefined) this.trace.responseFields = fields
    this.writeHead(status, reason, fields, length, hasBody)
  }

  /** A piece of the response body, lent for this call. */
  data(chunk: Buffer): void {
    if (this.ended) return
    if (this.entry !== undefined) this.entry.traffic.bytesOut += chunk.length
    if (this.trace !== undefined) this.trace.responseBodyLength += chunk.length
    if (this.#transformWriter === undefined) this.writeBody(chunk)
    else this.#transformWriter.write(chunk)
  }

  /** The response body is complete. */
  finish(trailers: string): void {
    if (this.ended) return
    if (this.#transformWriter === undefined) this.#complete(trailers)
    else {
      this.#transformWriter.transform.once('end', () => this.#complete(trailers))
      this.#transformWriter.end()
    }
  }

  /** Bytes of the request body were passed on. */
  protected countRequestBytes(bytes: number): void {
    if (this.entry !== undefined) this.entry.traffic.bytesIn += bytes
    if (this.trace !== undefined) this.trace.requestBodyLength += bytes
  }

  /** Bytes arrived from the upstream; they are granted again as the visitor takes what was made of them. */
  received(bytes: number): void {
    if (this.#transformWriter === undefined) this.account(bytes)
    else this.#transformUncredited += bytes
  }

  /** The upstream agreed to WebSocket: from here on bytes pass as they are. `fields` are those of its 101. */
  upgrade(reason: string, fields: string): void {
    if (this.ended || this.responded) return
    this.responded = true
    const lines =
      this.#responseSteps === undefined
        ? fields
        : this.#applyResponseSteps(101, fields, -1, false).fields.text
    this.#recordStatus(101)
    if (this.trace !== undefined) this.trace.responseFields = lines
    this.writeUpgrade(reason, lines)
  }

  /** Gives a whole answer of our own. */
  respondWith(response: Answer): void {
    const bodiless = response.status === 204 || response.status === 304
    const hasBody = this.head.method !== 'HEAD' && !bodiless
    const length = bodiless ? -1 : response.body.length
    this.respond(response.status, STATUS_CODES[response.status] ?? '', response.fields, length, hasBody)
    if (hasBody) this.data(response.body)
    this.finish('')
  }

  /** Turns the request away, or breaks off visibly when the response has begun already. */
  reject(error: Refusal): void {
    if (this.ended) return
    this.#error = error
    const { upstream: address, code, text } = error
    if (address !== undefined)
      this.core.log.debug({ host: this.head.host, upstream: address, code, reason: text }, 'upstream failed')
    if (this.route !== undefined) this.route.counters.refusals++
    const { upstream } = this
    if (this.responded) {
      this.breakOff()
      return
    }
    this.upstream = undefined
    upstream?.abort()
    // Modules change what the backend says, not what the edge itself says.
    this.#responseSteps = undefined
    this.respondWith(answerRefusal(error, this.fields.get('accept') ?? ''))
  }

  /** The response cannot be completed: the visitor must see that, never a clean short end (P18). */
  breakOff(): void {
    if (this.ended) return
    this.resetClient()
    this.#end(false)
  }

  /** The visitor is gone. */
  onClientClosed(): void {
    if (this.ended) return
    this.#end(false)
  }

  /** An interim response (1xx). */
  abstract writeInterim(status: number, reason: string, fields: string): void
  protected abstract writeHead(
    status: number,
    reason: string,
    fields: string,
    length: number,
    hasBody: boolean,
  ): void
  protected abstract writeBody(chunk: Buffer): void
  protected abstract writeEnd(trailers: string): void
  /** True when the visitor should not be given more before `roomForVisitor`. */
  protected abstract get congested(): boolean
  protected abstract account(bytes: number): void
  protected abstract resetClient(): void
  /** The upstream takes request bytes again. */
  abstract resumeBody(): void
  protected abstract writeUpgrade(reason: string, fields: string): void

  /** The connection ends after this exchange. */
  abstract disableKeepAlive(): void

  /** Called by the subclass when a congested visitor has room again. */
  protected onClientDrain(): void {
    this.#transformWriter?.transform.resume()
  }

  #recordStatus(status: number): void {
    this.#status = status
    // A backend may answer with any three digits.
    if (this.entry !== undefined && status < 600) this.entry.traffic.statuses[(status / 100) | 0]!++
  }

  #complete(trailers: string): void {
    if (this.ended) return
    this.writeEnd(trailers)
    this.#end(true)
  }

  #end(complete: boolean): void {
    this.ended = true
    if (this.entry !== undefined) this.entry.traffic.finished++
    if (!complete) {
      this.upstream?.abort()
      this.#transformWriter?.transform.destroy()
    }
    const { trace } = this
    if (trace !== undefined) this.whenFinished(() => this.#emitEvent(trace, complete))
    if (this.#finishListeners === undefined) return
    const result: ExchangeResult = { status: this.#status, error: this.#error, complete }
    fanOut(
      this.#finishListeners,
      (listener) => listener(result),
      (err) => this.core.log.error({ err }, 'end of a request was not reported'),
    )
  }

  /** What the modules make of a response. */
  #applyResponseSteps(status: number, fields: string, length: number, hasBody: boolean): Response {
    const response: Response = { status, fields: new Fields(fields), length, hasBody, through: undefined }
    for (const step of this.#responseSteps!) step(response)
    return response
  }

  #respondWithSteps(status: number, reason: string, fields: string, length: number, hasBody: boolean): void {
    const response = this.#applyResponseSteps(status, fields, length, hasBody)
    this.#recordStatus(response.status)
    const lines = response.fields.text
    if (this.trace !== undefined) this.trace.responseFields = lines
    const phrase = response.status === status ? reason : (STATUS_CODES[response.status] ?? '')
    if (response.through !== undefined && hasBody) {
      this.#attachTransform(response.through)
      this.writeHead(response.status, phrase, lines, -1, true)
    } else this.writeHead(response.status, phrase, lines, response.length, hasBody)
  }

  #attachTransform(transform: Transform): void {
    this.#transformWriter = new TransformFeed(transform, () => this.#creditTransform())
    transform.on('data', (chunk: Buffer) => {
      if (this.ended) return
      this.writeBody(chunk)
      if (this.congested) transform.pause()
    })
    transform.on('error', () => this.breakOff())
  }

  #creditTransform(): void {
    const owed = this.#transformUncredited
    this.#transformUncredited = 0
    if (owed > 0) this.account(owed)
  }

  #emitEvent(watch: RequestTrace, complete: boolean): void {
    const { entry, head, core } = this
    core.observer?.onRequest({
      accountId: entry?.accountId ?? '',
      entryId: entry?.id ?? '',
      routeId: this.route?.id ?? '',
      tunnelId: watch.tunnelId,
      connection: this.connection,
      startedAt: watch.startedAt,
      endedAt: core.clock.now(),
      method: head.method,
      host: head.host,
      target: head.target,
      requestFields: head.facts.fieldLines,
      requestBodyLength: watch.requestBodyLength,
      status: this.#status,
      responseFields: watch.responseFields,
      responseBodyLength: watch.responseBodyLength,
      connectionReused: watch.connectionReused,
      notes: watch.notes,
      refusal: this.#error?.code,
      complete,
    })
  }
}

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
import type { Watch } from './observe.ts'
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
export interface Outcome {
  /** 0 when no response was begun. */
  readonly status: number
  readonly refusal: Refusal | undefined
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
  over = false
  /** Gathered only when somebody wants to be told. */
  watch: Watch | undefined = undefined
  #status = 0
  #refusal: Refusal | undefined = undefined
  #fields: Fields | undefined = undefined
  #onResponse: ((response: Response) => void)[] | undefined = undefined
  #onFinish: ((outcome: Outcome) => void)[] | undefined = undefined
  #through: TransformFeed | undefined = undefined
  #throughOwed = 0

  constructor(core: Core, connection: Connection, head: RequestHead) {
    this.core = core
    this.connection = connection
    this.head = head
    this.authority = head.authority
  }

  /** The request's fields; what modules change here is what the upstream gets. */
  get fields(): Fields {
    this.#fields ??= new Fields(this.head.facts.kept)
    return this.#fields
  }

  /** The request's field lines as they are to be sent. */
  get fieldLines(): string {
    return this.#fields === undefined ? this.head.facts.kept : this.#fields.text
  }

  /** Whether the request carries a body. */
  get hasBody(): boolean {
    return this.head.facts.chunked || this.head.facts.length > 0
  }

  /** Calls back when the response begins, in the reverse order of the modules, as on the way out. */
  whenAnswered(step: (response: Response) => void): void {
    this.#onResponse ??= []
    this.#onResponse.unshift(step)
  }

  /** Calls back once when all is over. */
  whenFinished(step: (outcome: Outcome) => void): void {
    this.#onFinish ??= []
    this.#onFinish.push(step)
  }

  /** Notes a decision for the request's event, if somebody wants it. */
  note(key: string, value: string | number): void {
    if (this.watch !== undefined) this.watch.notes[key] = value
  }

  /** The response begins. `fields` are lines without framing; `length` is -1 when the body's length is not known. */
  respond(status: number, reason: string, fields: string, length: number, hasBody: boolean): void {
    if (this.over || this.responded) return
    this.responded = true
    if (this.#onResponse !== undefined) {
      this.#respondThroughSteps(status, reason, fields, length, hasBody)
      return
    }
    this.#begin(status)
    if (this.watch !== undefined) this.watch.responseFields = fields
    this.writeHead(status, reason, fields, length, hasBody)
  }

  /** A piece of the response body, lent for this call. */
  data(piece: Buffer): void {
    if (this.over) return
    if (this.entry !== undefined) this.entry.traffic.bytesOut += piece.length
    if (this.watch !== undefined) this.watch.responseBodyLength += piece.length
    if (this.#through === undefined) this.writeBody(piece)
    else this.#through.write(piece)
  }

  /** The response body is complete. */
  finish(trailers: string): void {
    if (this.over) return
    if (this.#through === undefined) this.#deliver(trailers)
    else {
      this.#through.transform.once('end', () => this.#deliver(trailers))
      this.#through.end()
    }
  }

  /** Bytes of the request body were passed on. */
  protected took(bytes: number): void {
    if (this.entry !== undefined) this.entry.traffic.bytesIn += bytes
    if (this.watch !== undefined) this.watch.requestBodyLength += bytes
  }

  /** Bytes arrived from the upstream; they are granted again as the visitor takes what was made of them. */
  received(bytes: number): void {
    if (this.#through === undefined) this.owe(bytes)
    else this.#throughOwed += bytes
  }

  /** The upstream agreed to WebSocket: from here on bytes pass as they are. `fields` are those of its 101. */
  upgrade(reason: string, fields: string): void {
    if (this.over || this.responded) return
    this.responded = true
    const lines =
      this.#onResponse === undefined ? fields : this.#throughSteps(101, fields, -1, false).fields.text
    this.#begin(101)
    if (this.watch !== undefined) this.watch.responseFields = lines
    this.writeUpgrade(reason, lines)
  }

  /** Gives a whole answer of our own. */
  answer(answer: Answer): void {
    const bodiless = answer.status === 204 || answer.status === 304
    const hasBody = this.head.method !== 'HEAD' && !bodiless
    const length = bodiless ? -1 : answer.body.length
    this.respond(answer.status, STATUS_CODES[answer.status] ?? '', answer.fields, length, hasBody)
    if (hasBody) this.data(answer.body)
    this.finish('')
  }

  /** Turns the request away, or breaks off visibly when the response has begun already. */
  refuse(refusal: Refusal): void {
    if (this.over) return
    this.#refusal = refusal
    const { upstream: address, code, text } = refusal
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
    this.#onResponse = undefined
    this.answer(answerRefusal(refusal, this.fields.get('accept') ?? ''))
  }

  /** The response cannot be completed: the visitor must see that, never a clean short end (P18). */
  breakOff(): void {
    if (this.over) return
    this.abortVisitor()
    this.#conclude(false)
  }

  /** The visitor is gone. */
  leave(): void {
    if (this.over) return
    this.#conclude(false)
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
  protected abstract writeBody(piece: Buffer): void
  protected abstract writeEnd(trailers: string): void
  /** True when the visitor should not be given more before `roomForVisitor`. */
  protected abstract get congested(): boolean
  protected abstract owe(bytes: number): void
  protected abstract abortVisitor(): void
  /** The upstream takes request bytes again. */
  abstract resumeBody(): void
  protected abstract writeUpgrade(reason: string, fields: string): void

  /** The connection ends after this exchange. */
  abstract closeAfter(): void

  /** Called by the subclass when a congested visitor has room again. */
  protected roomForVisitor(): void {
    this.#through?.transform.resume()
  }

  #begin(status: number): void {
    this.#status = status
    // A backend may answer with any three digits.
    if (this.entry !== undefined && status < 600) this.entry.traffic.statuses[(status / 100) | 0]!++
  }

  #deliver(trailers: string): void {
    if (this.over) return
    this.writeEnd(trailers)
    this.#conclude(true)
  }

  #conclude(complete: boolean): void {
    this.over = true
    if (this.entry !== undefined) this.entry.traffic.finished++
    if (!complete) {
      this.upstream?.abort()
      this.#through?.transform.destroy()
    }
    const { watch } = this
    if (watch !== undefined) this.whenFinished(() => this.#report(watch, complete))
    if (this.#onFinish === undefined) return
    const outcome = { status: this.#status, refusal: this.#refusal, complete }
    fanOut(
      this.#onFinish,
      (step) => step(outcome),
      (err) => this.core.log.error({ err }, 'end of a request was not reported'),
    )
  }

  /** What the modules make of a response. */
  #throughSteps(status: number, fields: string, length: number, hasBody: boolean): Response {
    const response: Response = { status, fields: new Fields(fields), length, hasBody, through: undefined }
    for (const step of this.#onResponse!) step(response)
    return response
  }

  #respondThroughSteps(
    status: number,
    reason: string,
    fields: string,
    length: number,
    hasBody: boolean,
  ): void {
    const response = this.#throughSteps(status, fields, length, hasBody)
    this.#begin(response.status)
    const lines = response.fields.text
    if (this.watch !== undefined) this.watch.responseFields = lines
    const phrase = response.status === status ? reason : (STATUS_CODES[response.status] ?? '')
    if (response.through !== undefined && hasBody) {
      this.#attach(response.through)
      this.writeHead(response.status, phrase, lines, -1, true)
    } else this.writeHead(response.status, phrase, lines, response.length, hasBody)
  }

  #attach(through: Transform): void {
    this.#through = new TransformFeed(through, () => this.#creditThrough())
    through.on('data', (piece: Buffer) => {
      if (this.over) return
      this.writeBody(piece)
      if (this.congested) through.pause()
    })
    through.on('error', () => this.breakOff())
  }

  #creditThrough(): void {
    const owed = this.#throughOwed
    this.#throughOwed = 0
    if (owed > 0) this.owe(owed)
  }

  #report(watch: Watch, complete: boolean): void {
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
      requestFields: head.facts.kept,
      requestBodyLength: watch.requestBodyLength,
      status: this.#status,
      responseFields: watch.responseFields,
      responseBodyLength: watch.responseBodyLength,
      connectionReused: watch.connectionReused,
      notes: watch.notes,
      refusal: this.#refusal?.code,
      complete,
    })
  }
}

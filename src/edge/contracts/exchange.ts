import { STATUS_CODES } from 'node:http'
import { compose, type Duplex } from 'node:stream'
import type { ByteSource } from '../../base/io/streams/coalescing-writer.ts'
import { fanOut } from '../../base/limits/fan-out.ts'
import { newId } from '../../base/values/id.ts'
import { EdgeError, edgeError } from '../errors.ts'
import { HeaderFields } from '../message/fields.ts'
import type { RequestHead } from '../message/request-head.ts'
import { LocalReplyBody } from '../response/local-reply.ts'
import { type EdgeResponse, renderError } from '../response/response.ts'
import { TransformWriter } from '../response/transform-writer.ts'
import { type AppliedAction, AppliedActions } from './applied-actions.ts'
import type { UpstreamTarget } from './backend.ts'
import type { ClientConnection } from './connection.ts'
import { connectionLogs } from './connection-logs.ts'
import type { BodySource } from './held-body.ts'
import { HeldResponse } from './held-response.ts'
import type { RequestEvent, RequestTrace } from './observe.ts'
import type { EdgeRuntime } from './runtime.ts'
import type { HttpHost, HttpRoute } from './table.ts'
import { NoUpstream, TunnelBusy } from './tunnels.ts'
import type { Upstream } from './upstream.ts'

/** The start of a response, as response steps see and change it. */
export interface MutableResponse {
  status: number
  readonly fields: HeaderFields
  /** Declared length of the body, -1 when unknown. */
  length: number
  /** False when the response ends with its head: for HEAD, 204 and 304, and when the body is known to be empty. */
  readonly hasBody: boolean
  /** Set by a step to transform the body; the length is then unknown. */
  transform: Duplex | undefined
  /** Set by a step to replace the body; the rest of the upstream's response is then dropped. */
  body: Buffer | undefined
}

/** Runs when the response starts. A promise holds the response until it settles. */
export type ResponseStep = (response: MutableResponse) => undefined | Promise<undefined>

/** A visitor who has signed in. */
export interface VisitorIdentity {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly groups: readonly string[]
}

/** The session of a visitor who has signed in. */
export interface VisitorSession {
  readonly id: string
  /** Wall-clock milliseconds, if no further request is made. */
  readonly expiresAt: number
  /** How the visitor's session before this one ended; `recheck` also once the provider has confirmed the identity. */
  readonly follows: 'idle' | 'maximum' | 'recheck' | undefined
  /** Those that a policy reads. */
  readonly tokens: Readonly<Record<string, string>>
}

/** A visitor who has signed in. */
export interface SignedInVisitor extends VisitorSession {
  /** The error of one whom a rule does not let in; its page offers another account. */
  deny(): EdgeError
}

/** The outcome of an exchange. */
export interface ExchangeResult {
  /** 0 when no response was started. */
  readonly status: number
  readonly error: EdgeError | undefined
  /** False when the client did not get the complete response. */
  readonly complete: boolean
}

/**
 * One request with its response, between a client and an upstream. The client's protocol is in the subclass, the
 * upstream's behind `Upstream`; modules act through the methods here.
 *
 *                 retry
 *                +-----+
 *                v     |
 *   dispatch -> waiting --- respond, respondWith, upgrade, reject ---> responding
 *                |                                                      |       |
 *                | abort,                              finish, and the  |       | reject, abort,
 *                | onClientClosed                      body is written  |       | onClientClosed
 *                v                                                      v       v
 *               ended (incomplete)                     ended (complete)       ended (incomplete)
 *
 * Two booleans are the state: `waiting` is neither, `responding` is `responded`, `ended` is final. Once it is set, the
 * `onFinish` listeners have run and the methods that act on the response return at once. Beside them:
 *   `bodySent`          a byte of the request body has left, so the request cannot be retried
 *   `resent`            the request was sent a second time, which happens once at most (P31)
 *   `heldBody`          the body was read before it was forwarded; each new upstream gets it first
 *   `upgrading`         the request asks for WebSocket; a 101 then calls `upgrade()` instead of `respond()`
 *   `#heldResponse`     a response step waits; the head is not sent yet, and what the upstream sends is stored
 *   `#transformWriter`  a response step transforms the body; `finish()` waits for the transform to end
 *   `#localReply`       the response is a large body of the edge itself; `finish()` waits until the client has taken it
 *   `#replaced`         a response step replaced the response; what the upstream still sends is dropped
 */
export abstract class Exchange {
  readonly runtime: EdgeRuntime
  readonly connection: ClientConnection
  readonly head: RequestHead
  httpHost: HttpHost | undefined = undefined
  route: HttpRoute | undefined = undefined
  upstream: Upstream | undefined = undefined
  /** The Host field the upstream gets. */
  authority: string
  /** The path and query the upstream gets. */
  target: string
  /** The request asks for WebSocket. */
  upgrading = false
  /** The targets that could not be reached. */
  failedTargets: UpstreamTarget[] | undefined = undefined
  /** The internal endpoints it was forwarded through. */
  forwards = 0
  /** Takes the request back from an internal endpoint that cannot be reached. */
  onUnreachable: ((error: EdgeError) => void) | undefined = undefined
  /** The request was sent a second time, which happens once at most (P31). */
  resent = false
  /** Request body that was read before it was forwarded; each new upstream gets it first. */
  heldBody: BodySource | undefined = undefined
  /** A byte of the request body has been forwarded, so the request cannot be retried. */
  bodySent = false
  /** The response has started. */
  responded = false
  /** The response was delivered, or the client is gone. Final. */
  ended = false
  /** How long neither side may send a byte, in ticks: `limits.response`, or what a policy sets. */
  responseTimeout: number
  /** Who has signed in, when a login admitted the request. */
  identity: VisitorIdentity | undefined = undefined
  visitorSession: SignedInVisitor | undefined = undefined
  /** What traffic policies did; undefined while none has acted. */
  appliedActions: AppliedActions | undefined = undefined
  /** Recorded only for accounts with an observer. */
  trace: RequestTrace | undefined = undefined
  readonly #startedAt = performance.now()
  #status = 0
  #error: EdgeError | undefined = undefined
  #headerFields: HeaderFields | undefined = undefined
  #responseSteps: ResponseStep[] | undefined = undefined
  #finishListeners: ((result: ExchangeResult) => void)[] | undefined = undefined
  #transformWriter: TransformWriter | undefined = undefined
  #heldResponse: HeldResponse | undefined = undefined
  /** Bytes of the upstream that are held or being transformed. */
  #uncredited = 0
  /** A response step replaced the response. */
  #replaced = false
  /** What is left of a large body of the edge itself. */
  #localReply: LocalReplyBody | undefined = undefined

  constructor(runtime: EdgeRuntime, connection: ClientConnection, head: RequestHead) {
    this.runtime = runtime
    this.connection = connection
    this.head = head
    this.authority = head.authority
    this.target = head.target
    this.responseTimeout = runtime.limits.response
  }

  /** Lets the upstream be silent for this many milliseconds. */
  limitResponse(milliseconds: number): void {
    this.responseTimeout = this.runtime.timers.ticks(milliseconds)
    this.touch()
  }

  /** The error of an upstream that was silent for too long. */
  silenceError(): EdgeError {
    const seconds = this.runtime.timers.milliseconds(this.responseTimeout) / 1000
    return edgeError('upstream_timeout', this.head.host, `sent nothing for ${seconds} s`)
  }

  /** The request's fields; the upstream gets them as modules leave them. */
  get fields(): HeaderFields {
    this.#headerFields ??= new HeaderFields(this.head.framing.fieldLines)
    return this.#headerFields
  }

  /** The request's field lines as the upstream gets them. */
  get fieldLines(): string {
    return this.#headerFields === undefined ? this.head.framing.fieldLines : this.#headerFields.text
  }

  /** Whether the request carries a body. */
  get hasBody(): boolean {
    return this.head.framing.chunked || this.head.framing.contentLength > 0
  }

  /** Registers a step that runs when the response starts, in the reverse order of the modules. */
  onResponse(step: ResponseStep): void {
    this.#responseSteps ??= []
    this.#responseSteps.unshift(step)
  }

  /** Registers a listener that runs once, when the exchange has ended. */
  onFinish(listener: (result: ExchangeResult) => void): void {
    this.#finishListeners ??= []
    this.#finishListeners.push(listener)
  }

  /** Records a decision for the request's event, if an observer wants it. */
  annotate(key: string, value: string | number): void {
    if (this.trace !== undefined) this.trace.annotations[key] = value
  }

  /** Records an action of a traffic policy for the agent's inspector. */
  recordAction(action: AppliedAction): void {
    this.appliedActions ??= new AppliedActions()
    this.appliedActions.add(action)
  }

  /** Adds log fields of a policy to the request's event, if an observer wants them. */
  addLogFields(fields: Readonly<Record<string, string>>): void {
    if (this.trace === undefined) return
    this.trace.logs ??= []
    this.trace.logs.push(fields)
  }

  /** Starts the response. `fields` are lines without framing; `length` is -1 when the body's length is unknown. */
  respond(status: number, reason: string, fields: string, length: number, hasBody: boolean): void {
    if (this.ended || this.responded) return
    this.responded = true
    if (this.#responseSteps !== undefined) {
      const response = mutableResponse(status, fields, length, hasBody)
      this.#runResponseSteps(this.#responseSteps, response, () => {
        if (response.body !== undefined) this.#respondReplaced(response, response.body)
        else this.#respondChanged(response, response.status === status ? reason : undefined)
      })
      return
    }
    this.#recordStatus(status)
    if (this.trace !== undefined) this.trace.responseFields = fields
    this.writeHead(status, reason, fields, length, hasBody)
  }

  /** Writes a chunk of the response body, lent for this call (decision 96). */
  respondBody(chunk: Buffer): void {
    if (this.ended || this.#replaced) return
    if (this.#heldResponse !== undefined) {
      this.#heldResponse.push(chunk)
      return
    }
    if (this.httpHost !== undefined) this.httpHost.traffic.bytesOut += chunk.length
    if (this.trace !== undefined) this.trace.responseBodyLength += chunk.length
    if (this.#transformWriter !== undefined) this.#transformWriter.write(chunk)
    else if (this.#localReply === undefined) this.writeBody(chunk)
    else this.#sendLocalReply(this.#localReply)
  }

  /** Ends the response body. */
  finish(trailers: string): void {
    if (this.ended) return
    if (this.#heldResponse !== undefined) {
      this.#detachUpstream()
      this.#heldResponse.end(trailers)
    } else if (this.#transformWriter === undefined) this.#complete(this.#replaced ? '' : trailers)
    else {
      this.#detachUpstream()
      this.#transformWriter.transform.once('end', () => this.#complete(trailers))
      this.#transformWriter.end()
    }
  }

  /** Counts bytes of the request body that were forwarded. */
  protected countRequestBytes(bytes: number): void {
    if (this.httpHost !== undefined) this.httpHost.traffic.bytesIn += bytes
    if (this.trace !== undefined) this.trace.requestBodyLength += bytes
  }

  /** Accounts for bytes received from the upstream; they are credited to it as the client takes them. */
  accountReceived(bytes: number): void {
    if (this.#heldResponse?.isRead || this.#replaced) this.upstream?.consumed(bytes)
    else if (this.#heldResponse === undefined && this.#transformWriter === undefined)
      this.account(bytes, this.upstream)
    else this.#uncredited += bytes
  }

  /** Reads the body of the response up to the limit, for a step that waits; undefined when the exchange ends before. */
  readResponseBody(limit: number): Promise<Buffer | undefined> {
    this.#heldResponse ??= new HeldResponse(this)
    const body = this.#heldResponse.read(limit)
    this.#creditUpstream()
    return body
  }

  /** The upstream accepted WebSocket: from here on bytes pass unchanged. `fields` are those of its 101. */
  upgrade(reason: string, fields: string): void {
    if (this.ended || this.responded) return
    this.responded = true
    if (this.#responseSteps === undefined) {
      this.#startUpgrade(reason, fields)
      return
    }
    const response = mutableResponse(101, fields, -1, false)
    this.#runResponseSteps(this.#responseSteps, response, () => {
      if (response.body !== undefined) this.#respondReplaced(response, response.body)
      else this.#startUpgrade(reason, response.fields.text)
    })
  }

  /** Sends a complete response of the edge itself. */
  respondWith(response: EdgeResponse): void {
    const { status, fields, body } = response
    const { length, hasBody } = frameBody(this.head.method, status, body)
    if (hasBody && !this.#holdOwnBody(body)) {
      // The page of the error that says so may be large too.
      if (this.#error === undefined) this.reject(edgeError('too_many_bodies'))
      else this.abort()
      return
    }
    this.respond(status, STATUS_CODES[status] ?? '', fields, length, hasBody)
    if (hasBody) this.respondBody(body)
    this.finish('')
  }

  /** Responds with the error, or aborts visibly when the response has started. */
  reject(error: EdgeError): void {
    if (this.ended) return
    this.#error = error
    const { upstream: address, code, text } = error
    if (address !== undefined)
      this.runtime.log.debug(
        { host: this.head.host, upstream: address, code, reason: text },
        'upstream failed',
      )
    if (this.route !== undefined) this.route.counters.rejections++
    const { upstream } = this
    if (error.closesConnection || (this.responded && this.#heldResponse === undefined)) {
      this.abort()
      return
    }
    this.#heldResponse?.drop()
    this.#heldResponse = undefined
    this.responded = false
    this.upstream = undefined
    upstream?.abort()
    // Response steps apply to the backend's responses, not to errors of the edge.
    this.#responseSteps = undefined
    this.respondWith(this.renderError(error))
  }

  /** Rejects with any error; one that is no `EdgeError` is a bug, which is logged and shown by its id alone. */
  fail(error: unknown): void {
    if (error instanceof EdgeError) {
      if (error.name === 'address_denied') this.annotate('ip_policy.decision', 'block')
      this.reject(error)
      return
    }
    if (error instanceof TunnelBusy) {
      this.reject(edgeError('too_busy', this.head.host))
      return
    }
    if (error instanceof NoUpstream) {
      this.reject(edgeError('no_upstream', this.head.host))
      return
    }
    const id = newId('err')
    this.runtime.log.error({ err: error, id }, 'request failed with an internal error')
    this.reject(edgeError('internal', id))
  }

  /** Renders an error as the client accepts it: the account's own page, where it has one for the status. */
  renderError(error: EdgeError): EdgeResponse {
    const { runtime, head, httpHost } = this
    return renderError(error, this.fields.get('accept') ?? '', {
      host: head.host,
      pagesUrl: runtime.errorPagesUrl(),
      findPage: (status) => runtime.findErrorPage(status, head.host, httpHost?.accountId),
    })
  }

  /** Resets the client: a response that cannot be completed must never look like a clean short end (P18). */
  abort(): void {
    if (this.ended) return
    this.resetClient()
    this.#end(false)
  }

  /** The client has disconnected. */
  onClientClosed(): void {
    if (this.ended) return
    this.#end(false)
  }

  /** Writes an interim response (1xx). */
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
  /** True when the client should not be sent more before `onClientDrain`. */
  protected abstract get congested(): boolean
  /** Credits a source as the client takes bytes that come from it. */
  protected abstract account(bytes: number, source: ByteSource | undefined): void
  protected abstract resetClient(): void
  /** Resumes reading the request body: the upstream is connected, or takes bytes again. */
  abstract resumeBody(): void
  /** Notes progress and extends the timeout. */
  protected abstract touch(): void
  protected abstract writeUpgrade(reason: string, fields: string): void

  /** Closes the connection after this exchange. */
  abstract disableKeepAlive(): void

  /** Called by the subclass when a congested client has room again. */
  protected onClientDrain(): void {
    this.#transformWriter?.transform.resume()
    if (this.#localReply?.started) this.#sendLocalReply(this.#localReply)
  }

  /** Takes the body of the response, which replaces an earlier one; false when too much is waiting for clients already. */
  #holdOwnBody(body: Buffer): boolean {
    this.#releaseOwnBody()
    if (LocalReplyBody.isSmall(body)) return true
    this.#localReply = LocalReplyBody.hold(
      body,
      this.runtime.localReplyBudgets.forClient(this.connection.remoteAddress),
    )
    return this.#localReply !== undefined
  }

  #sendLocalReply(body: LocalReplyBody): void {
    body.started = true
    while (!this.ended && !this.congested) {
      const part = body.next()
      if (part === undefined) {
        this.#releaseOwnBody()
        body.onWritten?.()
        return
      }
      this.account(part.length, body)
      this.writeBody(part)
    }
  }

  #releaseOwnBody(): void {
    this.#localReply?.release()
    this.#localReply = undefined
  }

  #recordStatus(status: number): void {
    this.#status = status
    if (this.httpHost === undefined) return
    const { statuses, responseTimes } = this.httpHost.traffic
    // A backend may send any three digits.
    if (status < 600) statuses[(status / 100) | 0]!++
    responseTimes.observe(performance.now() - this.#startedAt)
  }

  #complete(trailers: string): void {
    if (this.ended) return
    if (this.#localReply?.started) {
      this.#localReply.onWritten = () => this.#complete(trailers)
      return
    }
    this.writeEnd(trailers)
    this.#end(true)
  }

  #end(complete: boolean): void {
    this.ended = true
    this.#releaseOwnBody()
    if (this.httpHost !== undefined) this.httpHost.traffic.finished++
    if (!complete) {
      this.upstream?.abort()
      this.#transformWriter?.transform.destroy()
      this.#heldResponse?.drop()
    }
    const { trace } = this
    if (trace !== undefined) this.onFinish(() => this.#emitEvent(trace, complete))
    if (this.#finishListeners === undefined) return
    const result: ExchangeResult = { status: this.#status, error: this.#error, complete }
    fanOut(
      this.#finishListeners,
      (listener) => listener(result),
      (err) => this.runtime.log.error({ err }, 'finish listener failed'),
    )
  }

  /** Runs the response steps, then starts the response; holds it while a step waits. */
  #runResponseSteps(steps: readonly ResponseStep[], response: MutableResponse, start: () => void): void {
    const pending = runSteps(steps, response)
    if (pending === undefined) start()
    else void this.#hold(pending, start)
  }

  async #hold(pending: Promise<undefined>, start: () => void): Promise<void> {
    this.#heldResponse ??= new HeldResponse(this)
    const held = this.#heldResponse
    try {
      await pending
      if (this.#heldResponse !== held || this.ended) return
      this.#heldResponse = undefined
      start()
      if (!this.#replaced) this.#sendHeld(held)
    } catch (error) {
      if (!this.ended) this.fail(error)
    }
    held.drop()
  }

  #sendHeld(held: HeldResponse): void {
    const bytes = held.take()
    if (this.#transformWriter === undefined && this.#uncredited > 0) {
      this.account(this.#uncredited, this.upstream)
      this.#uncredited = 0
    }
    if (bytes.length > 0) this.respondBody(bytes)
    if (held.trailers !== undefined) this.finish(held.trailers)
  }

  #startUpgrade(reason: string, fields: string): void {
    this.#recordStatus(101)
    if (this.trace !== undefined) this.trace.responseFields = fields
    this.writeUpgrade(reason, fields)
  }

  /** Starts a response that the modules may have changed; without a reason phrase it gets that of its status. */
  #respondChanged({ status, fields, length, hasBody, transform }: MutableResponse, reason?: string): void {
    this.#recordStatus(status)
    const lines = fields.text
    if (this.trace !== undefined) this.trace.responseFields = lines
    const phrase = reason ?? STATUS_CODES[status] ?? ''
    if (transform !== undefined && hasBody) {
      this.#attachTransform(transform)
      this.writeHead(status, phrase, lines, -1, true)
    } else this.writeHead(status, phrase, lines, length, hasBody)
  }

  /** Sends what a response step put in place of the response, and drops the rest of the upstream's. */
  #respondReplaced(response: MutableResponse, body: Buffer): void {
    const { status, fields } = response
    const { length, hasBody } = frameBody(this.head.method, status, body)
    if (hasBody && !this.#holdOwnBody(body)) {
      this.#respondFull(response)
      return
    }
    this.#replaced = true
    this.#recordStatus(status)
    const lines = fields.text
    if (this.trace !== undefined) this.trace.responseFields = lines
    this.writeHead(status, STATUS_CODES[status] ?? '', lines, length, hasBody)
    if (hasBody) {
      if (this.httpHost !== undefined) this.httpHost.traffic.bytesOut += body.length
      if (this.trace !== undefined) this.trace.responseBodyLength += body.length
      if (this.#localReply === undefined) this.writeBody(body)
      else this.#sendLocalReply(this.#localReply)
    }
    // Not at once: the upstream is in the middle of handing over its response.
    queueMicrotask(() => {
      if (this.ended) return
      this.upstream?.abort()
      this.upstream = undefined
      this.#complete('')
    })
  }

  /** Replaces a response whose body cannot wait for its client. */
  #respondFull(response: MutableResponse): void {
    if (this.#error !== undefined) {
      this.abort()
      return
    }
    this.#error = edgeError('too_many_bodies')
    const { status, fields, body } = this.renderError(this.#error)
    this.#respondReplaced({ ...response, status, fields: new HeaderFields(fields) }, body)
  }

  #attachTransform(transform: Duplex): void {
    this.#transformWriter = new TransformWriter(transform, () => this.#creditTransform())
    transform.on('data', (chunk: Buffer) => {
      if (this.ended) return
      this.writeBody(chunk)
      if (this.congested) transform.pause()
    })
    transform.on('error', () => this.abort())
  }

  /** The transform has taken everything, and may write nothing for it yet: an upstream that waits then would wait for ever. */
  #creditTransform(): void {
    if (!this.congested) {
      this.#creditUpstream()
      return
    }
    this.account(this.#uncredited, this.upstream)
    this.#uncredited = 0
  }

  #creditUpstream(): void {
    const bytes = this.#uncredited
    this.#uncredited = 0
    if (bytes > 0) this.upstream?.consumed(bytes)
  }

  /** The upstream has sent its response and may serve another request, so that it must not be aborted any more. */
  #detachUpstream(): void {
    this.#creditUpstream()
    this.upstream = undefined
  }

  #emitEvent(watch: RequestTrace, complete: boolean): void {
    const { httpHost, head, runtime } = this
    runtime.observer?.onRequest({
      accountId: httpHost?.accountId ?? '',
      hostId: httpHost?.id ?? '',
      routeId: this.route?.id ?? '',
      tunnelId: watch.tunnelId,
      connection: this.connection,
      startedAt: watch.startedAt,
      endedAt: runtime.clock.now(),
      method: head.method,
      host: head.host,
      target: this.target,
      requestFields: head.framing.fieldLines,
      requestBodyLength: watch.requestBodyLength,
      status: this.#status,
      responseFields: watch.responseFields,
      responseBodyLength: watch.responseBodyLength,
      connectionReused: watch.connectionReused,
      annotations: watch.annotations,
      logs: joinLogs(connectionLogs(this.connection, httpHost?.accountId ?? ''), watch.logs),
      errorCode: this.#error?.code,
      complete,
    })
  }
}

type Logs = RequestEvent['logs']

const joinLogs = (first: Logs, second: Logs): Logs =>
  first === undefined ? second : [...first, ...(second ?? [])]

/** Runs the response steps of the modules; a promise when one of them waits. */
function runSteps(
  steps: readonly ResponseStep[],
  response: MutableResponse,
  start = 0,
): Promise<undefined> | undefined {
  for (let index = start; index < steps.length; index++) {
    const pending = steps[index]!(response)
    if (pending !== undefined) return pending.then(() => runSteps(steps, response, index + 1))
  }
  return undefined
}

function mutableResponse(status: number, fields: string, length: number, hasBody: boolean): MutableResponse {
  return {
    status,
    fields: new HeaderFields(fields),
    length,
    hasBody,
    transform: undefined,
    body: undefined,
  }
}

/** Adds a transform behind those that a response has. */
export function addTransform(response: MutableResponse, transform: Duplex): void {
  response.transform = response.transform === undefined ? transform : compose(response.transform, transform)
  response.length = -1
}

/** How the body of a complete response is framed: HEAD, 204 and 304 have none. */
function frameBody(method: string, status: number, body: Buffer): { length: number; hasBody: boolean } {
  const bodiless = status === 204 || status === 304
  return {
    length: bodiless ? -1 : body.length,
    hasBody: method !== 'HEAD' && !bodiless && body.length > 0,
  }
}

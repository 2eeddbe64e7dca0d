import type { RequestPath } from '../../base/request-path.ts'
import type {
  ActionResult,
  Activation,
  EndpointSource,
  MapKey,
  MapValue,
  RequestSource,
  ResponseSource,
  RetrySource,
  Value,
} from '../../policy/index.ts'
import type { ClientConnection } from '../connection.ts'
import { logConnection } from '../connection-logs.ts'
import type { Exchange, MutableResponse, ResponseStep } from '../exchange.ts'
import type { HeaderFields } from '../message/fields.ts'
import { fromFieldValue } from '../message/own-fields.ts'
import type { ForwardConnection } from '../module.ts'
import { requirePath } from '../target-path.ts'
import type { PolicyContext } from './context.ts'
import type { EventMessage } from './event-stream.ts'
import { PolicyConnection } from './policy-connection.ts'

/** One run of a policy: what expressions read, and what actions change. */
abstract class Execution implements Activation {
  readonly context: PolicyContext
  readonly conn: PolicyConnection
  readonly results: Record<string, ActionResult>
  retry: RetrySource | undefined = undefined
  abstract readonly req: RequestSource | undefined
  abstract readonly res: ResponseSource | undefined
  #vars: Map<string, Value> | undefined

  constructor(
    context: PolicyContext,
    connection: ClientConnection,
    results: Record<string, ActionResult> = {},
  ) {
    this.context = context
    this.conn = new PolicyConnection(connection, context.ipData, context.region)
    this.results = results
  }

  get endpoint(): EndpointSource {
    return this.context.endpoint
  }

  /** Variables live in one phase. */
  get vars(): Map<string, Value> {
    this.#vars ??= new Map()
    return this.#vars
  }

  now(): number {
    return this.context.clock.now()
  }

  secret(vault: string, name: string): string | undefined {
    return this.context.readSecret(vault, name)
  }

  /** Adds facts to the event of the traffic. */
  abstract log(metadata: Readonly<Record<string, string>>): void
}

/** A run of `on_tcp_connect`. */
export class ConnectionExecution extends Execution {
  readonly req = undefined
  readonly res = undefined
  /** Continues the connection on an internal endpoint; returns why that cannot be reached. */
  readonly forward: ForwardConnection

  constructor(context: PolicyContext, connection: ClientConnection, forward: ForwardConnection) {
    super(context, connection)
    this.forward = forward
  }

  log(metadata: Readonly<Record<string, string>>): void {
    logConnection(this.conn.connection, this.context.accountId, metadata)
  }
}

/** A run of `on_http_request`. */
export class RequestExecution extends Execution implements RequestSource {
  readonly exchange: Exchange
  readonly res = undefined
  readonly receivedAt: number
  /** A guard answered, so that `on_http_response` does not apply. */
  guardAnswered = false
  #headers: MapValue | undefined
  /** Actions change the target. */
  #path: (RequestPath & { readonly target: string }) | undefined
  #responseStep: ResponseStep | undefined

  constructor(context: PolicyContext, exchange: Exchange, responseStep?: ResponseStep) {
    super(context, exchange.connection)
    this.exchange = exchange
    this.#responseStep = responseStep
    this.receivedAt = context.clock.now()
  }

  get req(): RequestSource {
    return this
  }

  get method(): string {
    return this.exchange.head.method
  }

  get scheme(): 'http' | 'https' {
    return this.exchange.connection.scheme === 'https' ? 'https' : 'http'
  }

  get host(): string {
    return this.exchange.head.host
  }

  get authority(): string {
    return this.exchange.head.authority
  }

  get target(): string {
    return this.exchange.target
  }

  get path(): RequestPath {
    const { target } = this.exchange
    if (this.#path?.target !== target) this.#path = { target, ...requirePath(target) }
    return this.#path
  }

  get version(): string {
    const { major, minor } = this.exchange.head
    return major === 2 ? 'HTTP/2.0' : `HTTP/1.${minor}`
  }

  get contentLength(): number {
    return this.exchange.head.framing.contentLength
  }

  get headers(): MapValue {
    if (this.#headers === undefined) {
      const headers = toHeaderMap(this.exchange.fields)
      if (!headers.has('host')) headers.set('host', [this.exchange.authority])
      this.#headers = headers
    }
    return this.#headers
  }

  header(name: string): readonly string[] {
    const values = readHeader(this.exchange.fields, name)
    return name === 'host' && values.length === 0 ? [this.exchange.authority] : values
  }

  /** Called by actions that change header fields. */
  headersChanged(): void {
    this.#headers = undefined
  }

  /** Lets `on_http_response` run when the response starts. */
  watchResponse(): void {
    if (this.#responseStep !== undefined) this.exchange.onResponse(this.#responseStep)
    this.#responseStep = undefined
  }

  log(metadata: Readonly<Record<string, string>>): void {
    this.exchange.logFacts(metadata)
  }
}

/** A run of `on_http_response`, which sees what actions found out about the request. */
export class ResponseExecution extends Execution implements ResponseSource {
  readonly request: RequestExecution
  readonly response: MutableResponse
  #headers: MapValue | undefined

  constructor(request: RequestExecution, response: MutableResponse) {
    super(request.context, request.exchange.connection, request.results)
    this.request = request
    this.response = response
  }

  get exchange(): Exchange {
    return this.request.exchange
  }

  get req(): RequestSource {
    return this.request
  }

  get res(): ResponseSource {
    return this
  }

  get status(): number {
    return this.response.status
  }

  get contentLength(): number {
    return this.response.body?.length ?? this.response.length
  }

  get headers(): MapValue {
    this.#headers ??= toHeaderMap(this.response.fields)
    return this.#headers
  }

  header(name: string): readonly string[] {
    return readHeader(this.response.fields, name)
  }

  headersChanged(): void {
    this.#headers = undefined
  }

  log(metadata: Readonly<Record<string, string>>): void {
    this.exchange.logFacts(metadata)
  }
}

/** A run of `on_event_stream_message`, for one message after the other. */
export class MessageExecution extends ResponseExecution {
  readonly message: EventMessage

  constructor(request: RequestExecution, response: MutableResponse, message: EventMessage) {
    super(request, response)
    this.message = message
  }
}

function readHeader(fields: HeaderFields, name: string): readonly string[] {
  return fields.getAll(name).map(fromFieldValue)
}

function toHeaderMap(fields: HeaderFields): Map<MapKey, string[]> {
  const headers = new Map<MapKey, string[]>()
  for (const [name, value] of fields) {
    const values = headers.get(name)
    if (values === undefined) headers.set(name, [fromFieldValue(value)])
    else values.push(fromFieldValue(value))
  }
  return headers
}

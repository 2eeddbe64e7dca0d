import type { RequestPath } from '../../base/http/request-path.ts'
import { type ChargeSteps, createSearchBudget } from '../../base/pattern/linear-pattern.ts'
import { Budget, type MapKey, type MapValue, type Meter, type Value } from '../../cel/index.ts'
import type {
  ActionResult,
  Activation,
  EndpointSource,
  RequestSource,
  ResponseSource,
  RetrySource,
} from '../../policy/index.ts'
import type { ClientConnection } from '../contracts/connection.ts'
import { logConnection } from '../contracts/connection-logs.ts'
import type { Exchange, MutableResponse, ResponseStep } from '../contracts/exchange.ts'
import type { ForwardConnection } from '../contracts/module.ts'
import type { InternalAddress } from '../contracts/tunnels.ts'
import { fromFieldValue } from '../message/field-values.ts'
import type { HeaderFields } from '../message/fields.ts'
import { requirePath } from '../target-path.ts'
import type { PolicyContext } from './context.ts'
import type { EventMessage } from './event-stream.ts'
import { HeaderMap } from './header-map.ts'
import { PolicyConnection } from './policy-connection.ts'

/** What the expressions and texts of one run of a phase may cost together: about 5 milliseconds of work. */
const PHASE_UNITS = 100_000

/** What has been read from a message: a few values, which are found faster in a list than in a map. */
class MessageReads {
  readonly #reads: unknown[] = []
  readonly #values: unknown[] = []

  once<M, T>(message: M, read: (message: M, meter: Meter) => T, meter: Meter): T {
    const index = this.#reads.indexOf(read)
    if (index !== -1) return this.#values[index] as T
    const value = read(message, meter)
    this.#reads.push(read)
    this.#values.push(value)
    return value
  }
}

/** One run of a policy: what expressions read, and what actions change. */
export abstract class Execution implements Activation {
  readonly context: PolicyContext
  readonly conn: PolicyConnection
  readonly results: Record<string, ActionResult>
  readonly budget = new Budget(PHASE_UNITS, 'the expressions of the policy take too long for one request')
  retry: RetrySource | undefined = undefined
  abstract readonly req: RequestSource | undefined
  abstract readonly res: ResponseSource | undefined
  #vars: Map<string, Value> | undefined
  #searches: ChargeSteps | undefined

  constructor(
    context: PolicyContext,
    connection: ClientConnection,
    results: Record<string, ActionResult> = {},
  ) {
    this.context = context
    this.conn = new PolicyConnection(connection, context.services.ipData, context.region)
    this.results = results
  }

  get endpoint(): EndpointSource {
    return this.context.endpoint
  }

  /** What all searches of URLs in this run may cost together. */
  get searches(): ChargeSteps {
    this.#searches ??= createSearchBudget()
    return this.#searches
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

  /** Adds fields to the event of the traffic. */
  abstract log(metadata: Readonly<Record<string, string>>): void
}

/** A run of `on_tcp_connect`. */
export class ConnectionExecution extends Execution {
  readonly req = undefined
  readonly res = undefined
  /** Continues the connection on an internal endpoint; returns why that cannot be reached. */
  readonly forward: ForwardConnection
  /** The internal endpoint that all requests of the connection continue on. */
  requestTarget: InternalAddress | undefined

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
  /** The run that reads the request now, whose budget pays for it. */
  reader: Execution = this
  #reads: MessageReads | undefined
  /** The target that they were read from. */
  #readsTarget = ''
  #responseStep: ResponseStep | undefined

  constructor(
    context: PolicyContext,
    exchange: Exchange,
    results: Record<string, ActionResult>,
    responseStep?: ResponseStep,
  ) {
    super(context, exchange.connection, results)
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
    return this.once(readPath)
  }

  get version(): string {
    const { major, minor } = this.exchange.head
    return major === 2 ? 'HTTP/2.0' : `HTTP/1.${minor}`
  }

  get contentLength(): number {
    return this.exchange.head.framing.contentLength
  }

  get headers(): MapValue {
    return this.once(readRequestHeaders)
  }

  once<T>(read: (message: this, meter: Meter) => T): T {
    const { target } = this
    if (this.#readsTarget !== target) this.#reads = undefined
    this.#readsTarget = target
    this.#reads ??= new MessageReads()
    return this.#reads.once(this, read, this.reader.budget)
  }

  header(name: string): readonly string[] {
    const values = readHeader(this.exchange.fields, name)
    return name === 'host' && values.length === 0 ? [this.exchange.authority] : values
  }

  /** Called by actions that change header fields. */
  headersChanged(): void {
    this.#reads = undefined
  }

  /** Lets `on_http_response` run when the response starts. */
  watchResponse(): void {
    if (this.#responseStep !== undefined) this.exchange.onResponse(this.#responseStep)
    this.#responseStep = undefined
  }

  log(metadata: Readonly<Record<string, string>>): void {
    this.exchange.addLogFields(metadata)
  }
}

/** A run of `on_http_response`, which sees what actions found out about the request. */
export class ResponseExecution extends Execution implements ResponseSource {
  readonly request: RequestExecution
  readonly response: MutableResponse
  #reads: MessageReads | undefined

  constructor(request: RequestExecution, response: MutableResponse) {
    super(request.context, request.exchange.connection, request.results)
    request.reader = this
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
    return this.once(readResponseHeaders)
  }

  once<T>(read: (message: this, meter: Meter) => T): T {
    this.#reads ??= new MessageReads()
    return this.#reads.once(this, read, this.budget)
  }

  header(name: string): readonly string[] {
    return readHeader(this.response.fields, name)
  }

  headersChanged(): void {
    this.#reads = undefined
  }

  log(metadata: Readonly<Record<string, string>>): void {
    this.exchange.addLogFields(metadata)
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

/** Reading a field takes about this many steps, and one for as many characters. */
const FIELD_COST = 4
const CHARACTERS_PER_UNIT = 16

/** Paths are searched several times. */
const PATH_COST = 8

function readPath({ target }: RequestExecution, meter: Meter): RequestPath {
  meter.charge((PATH_COST * target.length) / CHARACTERS_PER_UNIT)
  return requirePath(target)
}

function readRequestHeaders({ exchange }: RequestExecution, meter: Meter): MapValue {
  const headers = toHeaderMap(exchange.fields, meter)
  if (!headers.has('host')) headers.set('host', [exchange.authority])
  return headers
}

const readResponseHeaders = ({ response }: ResponseExecution, meter: Meter): MapValue =>
  toHeaderMap(response.fields, meter)

function toHeaderMap(fields: HeaderFields, meter: Meter): Map<MapKey, string[]> {
  const headers = new HeaderMap<string[]>()
  for (const [name, value] of fields) {
    meter.charge(FIELD_COST + value.length / CHARACTERS_PER_UNIT)
    const values = headers.get(name)
    if (values === undefined) headers.set(name, [fromFieldValue(value)])
    else values.push(fromFieldValue(value))
  }
  return headers
}

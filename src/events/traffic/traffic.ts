import { trimOws } from '../../base/http/optional-white-space.ts'
import type { Environment } from '../../cel/index.ts'
import { TRAFFIC_FIELDS } from '../../resources/index.ts'
import { filterEnvironment, type Getter } from '../filter.ts'

/** The client connection of a request, as the edge reports it. */
export interface ClientConnectionInfo {
  readonly scheme: string
  readonly remoteAddress: string
  readonly localAddress: string
  readonly localPort: number
  readonly serverName: string | undefined
  readonly tls:
    | {
        readonly version: string
        readonly cipher: string
        readonly peer: { readonly commonName: string; readonly serialNumber: string } | undefined
      }
    | undefined
  readonly startedAt: number
}

/** What `log` actions of a policy recorded, in order. */
type PolicyLogs = readonly Readonly<Record<string, string>>[]

/** A finished request, as the edge reports it. */
export interface FinishedRequest {
  readonly accountId: string
  readonly connection: ClientConnectionInfo
  readonly endedAt: number
  readonly method: string
  readonly host: string
  /** Path and query. */
  readonly target: string
  /** Field lines, each ended by CRLF. */
  readonly requestFields: string
  readonly requestBodyLength: number
  readonly status: number
  readonly responseFields: string
  readonly responseBodyLength: number
  readonly connectionReused: boolean
  /** Decisions of modules, by the field names of the event. */
  readonly annotations: Readonly<Record<string, string | number>>
  readonly logs?: PolicyLogs | undefined
}

/** A finished TCP or TLS connection, as the edge reports it. */
export interface FinishedConnection {
  readonly accountId: string
  readonly connection: ClientConnectionInfo
  readonly endedAt: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly annotations: Readonly<Record<string, string | number>>
  readonly logs?: PolicyLogs | undefined
}

export const HTTP_REQUEST = 'http_request_complete.v0'
export const TCP_CONNECTION = 'tcp_connection_closed.v0'

const clientFields: Readonly<Record<string, Getter<ClientConnectionInfo>>> = {
  'conn.client_ip': ({ remoteAddress }) => remoteAddress,
  'conn.server_ip': ({ localAddress }) => localAddress,
  'conn.server_name': ({ serverName }) => serverName,
  'conn.server_port': ({ localPort }) => localPort,
  'conn.start_ts': ({ startedAt }) => startedAt,
  'tls.cipher_suite': ({ tls }) => tls?.cipher,
  'tls.version': ({ tls }) => tls?.version,
  'tls.client_cert.serial_number': ({ tls }) => tls?.peer?.serialNumber,
  'tls.client_cert.subject.cn': ({ tls }) => tls?.peer?.commonName,
}

const httpFields: Readonly<Record<string, Getter<FinishedRequest>>> = {
  'conn.server_name': ({ connection, host }) => connection.serverName ?? stripPort(host),
  'backend.connection_reused': ({ connectionReused }) => connectionReused,
  'http.request.body_length': ({ requestBodyLength }) => requestBodyLength,
  'http.request.headers': ({ requestFields }) => requestFields,
  'http.request.method': ({ method }) => method,
  'http.request.url.host': ({ host }) => host,
  'http.request.url.path': ({ target }) => target.slice(0, queryIndex(target)),
  'http.request.url.query': ({ target }) => target.slice(queryIndex(target) + 1),
  'http.request.url.raw': ({ connection, host, target }) => `${connection.scheme}://${host}${target}`,
  'http.request.url.scheme': ({ connection }) => connection.scheme,
  'http.request.user_agent': ({ requestFields }) => requestFields,
  'http.response.body_length': ({ responseBodyLength }) => responseBodyLength,
  'http.response.headers': ({ responseFields }) => responseFields,
  'http.response.status_code': ({ status }) => status,
  'traffic_policy.logs': readLogs,
}

const tcpFields: Readonly<Record<string, Getter<FinishedConnection>>> = {
  'conn.bytes_in': ({ bytesIn }) => bytesIn,
  'conn.bytes_out': ({ bytesOut }) => bytesOut,
  'conn.end_ts': ({ endedAt }) => endedAt,
  'traffic_policy.logs': readLogs,
}

function readLogs({ logs }: { readonly logs?: PolicyLogs | undefined }): PolicyLogs {
  return logs ?? []
}

function logsSize({ logs = [] }: { readonly logs?: PolicyLogs | undefined }): number {
  return logs.reduce(
    (size, fields) =>
      size + Object.entries(fields).reduce((sum, [name, value]) => sum + name.length + value.length, 0),
    0,
  )
}

interface FinishedTraffic {
  readonly connection: ClientConnectionInfo
  readonly annotations: Readonly<Record<string, string | number>>
}

/** Renderers of captured values that are expensive to convert: they run when the event is serialized. */
const renderers: Readonly<Record<string, (captured: never) => unknown>> = {
  'conn.start_ts': formatTime,
  'conn.end_ts': formatTime,
  'http.request.headers': parseFields,
  'http.request.user_agent': parseUserAgent,
  'http.response.headers': parseFields,
}

/** One field of an event: how it is captured, and how the captured value is rendered later. */
export interface TrafficField<E> {
  readonly read: Getter<E>
  readonly render: ((value: unknown) => unknown) | undefined
}

/** A type of traffic event. */
export interface TrafficKind<E> {
  field(name: string): TrafficField<E> | undefined
  /** The number of characters that the captured values of an event may retain in memory. */
  retainedSize(event: E): number
}

/** Fields are resolved once, when a subscription is compiled; each event only costs a call. */
function createTrafficKind<E extends FinishedTraffic>(
  type: string,
  typeFields: Readonly<Record<string, Getter<E>>>,
  retainedSize: (event: E) => number,
): TrafficKind<E> {
  const fields = new Map<string, TrafficField<E>>()
  for (const name of TRAFFIC_FIELDS[type] ?? []) {
    const clientField = clientFields[name]
    // Fields that belong neither to the event type nor to the connection come from the annotations of modules.
    const read: Getter<E> =
      typeFields[name] ??
      (clientField ? ({ connection }) => clientField(connection) : ({ annotations }) => annotations[name])
    fields.set(name, { read, render: renderers[name] as TrafficField<E>['render'] })
  }
  return { field: (name) => fields.get(name), retainedSize }
}

/** The kinds of traffic events by their type. */
export const trafficKinds: Readonly<Record<string, TrafficKind<never>>> = {
  // Values of a request head are slices of one string and retain all of it.
  [HTTP_REQUEST]: createTrafficKind(
    HTTP_REQUEST,
    httpFields,
    (request: FinishedRequest) => request.target.length + request.requestFields.length + logsSize(request),
  ),
  [TCP_CONNECTION]: createTrafficKind(TCP_CONNECTION, tcpFields, logsSize),
}

const environments = new Map<string, Environment>()

/** What filters on events of a type may use: its fields as they are rendered. */
export function filterEnvironmentOf(type: string): Environment {
  const known = environments.get(type)
  if (known !== undefined) return known
  const kind = trafficKinds[type] as TrafficKind<unknown> | undefined
  const getters = new Map<string, Getter<unknown>>()
  for (const name of TRAFFIC_FIELDS[type] ?? []) {
    const { read, render } = kind!.field(name)!
    getters.set(name, render === undefined ? read : (event) => render(read(event)))
  }
  const environment = filterEnvironment(getters)
  environments.set(type, environment)
  return environment
}

// These fields carry credentials, which must not end up in logs (P43).
const REDACTED_FIELDS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])

/** Parses field lines to a map from lower-case names to values. */
function parseFields(lines: string): Record<string, string[]> {
  // Without a prototype: names come from clients.
  const fields: Record<string, string[]> = Object.create(null)
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon <= 0) continue
    const name = line.slice(0, colon).toLowerCase()
    const value = REDACTED_FIELDS.has(name) ? '[hidden]' : trimOws(line.slice(colon + 1))
    const values = fields[name]
    if (values === undefined) fields[name] = [value]
    else values.push(value)
  }
  return fields
}

const USER_AGENT = /(?:^|\r\n)user-agent:[ \t]*([^\r]*)/i

function parseUserAgent(lines: string): string {
  return USER_AGENT.exec(lines)?.[1] ?? ''
}

function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

function queryIndex(target: string): number {
  const index = target.indexOf('?')
  return index === -1 ? target.length : index
}

function stripPort(host: string): string {
  return host.replace(/:[0-9]+$/, '')
}

import { trimOws } from '../base/optional-white-space.ts'
import { TRAFFIC_FIELDS } from '../resources/index.ts'
import type { Getter, GetterOf } from './filter.ts'

/** What is known of a visitor's connection. */
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

/** A finished request, as the edge tells of it. */
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
  /** What modules have decided, under the names of the event's fields. */
  readonly notes: Readonly<Record<string, string | number>>
}

/** A finished raw connection, as the edge tells of it. */
export interface FinishedConnection {
  readonly accountId: string
  readonly connection: ClientConnectionInfo
  readonly endedAt: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly notes: Readonly<Record<string, string | number>>
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
}

const tcpFields: Readonly<Record<string, Getter<FinishedConnection>>> = {
  'conn.bytes_in': ({ bytesIn }) => bytesIn,
  'conn.bytes_out': ({ bytesOut }) => bytesOut,
  'conn.end_ts': ({ endedAt }) => endedAt,
}

interface FinishedTraffic {
  readonly connection: ClientConnectionInfo
  readonly notes: Readonly<Record<string, string | number>>
}

/** What some values become when they are told. That costs more than to keep them, so it is done as late as possible. */
const renderers: Readonly<Record<string, (taken: never) => unknown>> = {
  'conn.start_ts': formatTime,
  'conn.end_ts': formatTime,
  'http.request.headers': parseFields,
  'http.request.user_agent': parseUserAgent,
  'http.response.headers': parseFields,
}

/** One field of an event: what is taken from it at once, and how that is told later. */
export interface TrafficField<E> {
  readonly read: Getter<E>
  readonly render: ((value: unknown) => unknown) | undefined
}

/** Something that can be told of the edge's traffic. */
export interface TrafficKind<E> {
  field(name: string): TrafficField<E> | undefined
  /** The characters in memory that values taken from an event may keep there. */
  retainedSize(event: E): number
}

/** Fields are looked up once, when a subscription is made; what remains for each event is a call. */
function createTrafficKind<E extends FinishedTraffic>(
  type: string,
  typeFields: Readonly<Record<string, Getter<E>>>,
  retainedSize: (event: E) => number,
): TrafficKind<E> {
  const fields = new Map<string, TrafficField<E>>()
  for (const name of TRAFFIC_FIELDS[type] ?? []) {
    const clientField = clientFields[name]
    // What is neither told by the edge itself nor by the connection was noted by a module, if at all.
    const read: Getter<E> =
      typeFields[name] ??
      (clientField ? ({ connection }) => clientField(connection) : ({ notes }) => notes[name])
    fields.set(name, { read, render: renderers[name] as TrafficField<E>['render'] })
  }
  return { field: (name) => fields.get(name), retainedSize }
}

/** The kinds of traffic events by their type. */
export const trafficKinds: Readonly<Record<string, TrafficKind<never>>> = {
  // Whatever is taken from a request's head is part of one text.
  [HTTP_REQUEST]: createTrafficKind(
    HTTP_REQUEST,
    httpFields,
    ({ target, requestFields }: FinishedRequest) => {
      return target.length + requestFields.length
    },
  ),
  [TCP_CONNECTION]: createTrafficKind(TCP_CONNECTION, tcpFields, () => 0),
}

/** How filters read the fields of a type of event: as they are told. */
export function trafficGetters(type: string): GetterOf<unknown> {
  return (name) => {
    const field = (trafficKinds[type] as TrafficKind<unknown> | undefined)?.field(name)
    if (field === undefined) return undefined
    const { read, render } = field
    return render === undefined ? read : (event) => render(read(event))
  }
}

// What they hold lets others in, so that it must not lie about in logs (P43).
const REDACTED_FIELDS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])

/** Field lines as a map from lower-case names to values. */
function parseFields(lines: string): Record<string, string[]> {
  // Without a prototype: names come from visitors.
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

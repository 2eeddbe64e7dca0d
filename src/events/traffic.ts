import type { FieldReader } from './filter.ts'

/** What is known of a visitor's connection. */
export interface VisitorConnection {
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
  readonly connection: VisitorConnection
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
  readonly connection: VisitorConnection
  readonly endedAt: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly notes: Readonly<Record<string, string | number>>
}

const connectionFields: Readonly<Record<string, (connection: VisitorConnection) => unknown>> = {
  'conn.client_ip': ({ remoteAddress }) => remoteAddress,
  'conn.server_ip': ({ localAddress }) => localAddress,
  'conn.server_name': ({ serverName }) => serverName,
  'conn.server_port': ({ localPort }) => localPort,
  'conn.start_ts': ({ startedAt }) => new Date(startedAt).toISOString(),
  'tls.cipher_suite': ({ tls }) => tls?.cipher,
  'tls.version': ({ tls }) => tls?.version,
  'tls.client_cert.serial_number': ({ tls }) => tls?.peer?.serialNumber,
  'tls.client_cert.subject.cn': ({ tls }) => tls?.peer?.commonName,
}

/** The field lines of a request, read once and only when asked for. */
type Headers = () => Readonly<Record<string, string[]>>

const requestFields: Readonly<Record<string, (request: FinishedRequest, headers: Headers) => unknown>> = {
  'conn.server_name': ({ connection, host }) => connection.serverName ?? nameOf(host),
  'backend.connection_reused': ({ connectionReused }) => connectionReused,
  'http.request.body_length': ({ requestBodyLength }) => requestBodyLength,
  'http.request.headers': (_request, headers) => headers(),
  'http.request.method': ({ method }) => method,
  'http.request.url.host': ({ host }) => host,
  'http.request.url.path': ({ target }) => target.split('?', 1)[0],
  'http.request.url.query': ({ target }) => target.slice(target.split('?', 1)[0]!.length + 1),
  'http.request.url.raw': ({ connection, host, target }) => `${connection.scheme}://${host}${target}`,
  'http.request.url.scheme': ({ connection }) => connection.scheme,
  'http.request.user_agent': (_request, headers) => headers()['user-agent']?.[0] ?? '',
  'http.response.body_length': ({ responseBodyLength }) => responseBodyLength,
  'http.response.headers': ({ responseFields }) => readFields(responseFields),
  'http.response.status_code': ({ status }) => status,
}

/** Reads the fields of `http_request_complete`; each is worked out only when asked for. */
export function requestReader(request: FinishedRequest): FieldReader {
  let read: Record<string, string[]> | undefined
  const headers = () => {
    read ??= readFields(request.requestFields)
    return read
  }
  return (field) =>
    requestFields[field]?.(request, headers) ??
    connectionFields[field]?.(request.connection) ??
    request.notes[field]
}

/** Reads the fields of `tcp_connection_closed`. */
export function connectionReader({
  connection,
  notes,
  bytesIn,
  bytesOut,
  endedAt,
}: FinishedConnection): FieldReader {
  return (field) => {
    if (field === 'conn.bytes_in') return bytesIn
    if (field === 'conn.bytes_out') return bytesOut
    if (field === 'conn.end_ts') return new Date(endedAt).toISOString()
    return connectionFields[field]?.(connection) ?? notes[field]
  }
}

// What they hold lets others in, so that it must not lie about in logs (P43).
const HIDDEN = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])

/** Field lines as a map from lower-case names to values. */
function readFields(lines: string): Record<string, string[]> {
  // Without a prototype: names come from visitors.
  const fields: Record<string, string[]> = Object.create(null)
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon <= 0) continue
    const name = line.slice(0, colon).toLowerCase()
    const value = HIDDEN.has(name) ? '[hidden]' : line.slice(colon + 1).trim()
    const values = fields[name]
    if (values === undefined) fields[name] = [value]
    else values.push(value)
  }
  return fields
}

function nameOf(host: string): string {
  return host.replace(/:[0-9]+$/, '')
}

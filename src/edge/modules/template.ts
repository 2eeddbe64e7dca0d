import { newId } from '../../base/values/id.ts'
import type { Exchange } from '../contracts/exchange.ts'
import { isFieldValue } from '../message/ascii.ts'
import { ModuleConfigError } from './context.ts'

const requestIds = new WeakMap<Exchange, string>()

/** One id per request, the same in every field that uses it. */
function requestId(exchange: Exchange): string {
  const existing = requestIds.get(exchange)
  if (existing !== undefined) return existing
  const id = newId('req')
  requestIds.set(exchange, id)
  return id
}

const variables: Readonly<Record<string, (exchange: Exchange, status: number) => string>> = {
  'conn.client_ip': ({ connection }) => connection.remoteAddress,
  'conn.client_port': ({ connection }) => `${connection.remotePort}`,
  'conn.server_ip': ({ connection }) => connection.localAddress,
  'conn.server_port': ({ connection }) => `${connection.localPort}`,
  'conn.server_name': ({ connection }) => connection.serverName ?? '',
  'conn.tls_version': ({ connection }) => connection.tls?.version ?? '',
  'req.id': requestId,
  'req.method': ({ head }) => head.method,
  'req.host': ({ head }) => head.host,
  'req.path': ({ head }) => head.target.split('?', 1)[0]!,
  'res.status_code': (_exchange, status) => `${status}`,
}

/** The variables header values may contain, for the documentation and its test. */
export const variableNames: readonly string[] = Object.keys(variables)

/** Renders a header value for one exchange; `status` is that of the response, 0 before there is one. */
export type HeaderTemplate = (exchange: Exchange, status: number) => string

/** Compiles a header value. `${…}` with an unknown name stays as written. */
export function compileHeaderTemplate(text: string): HeaderTemplate {
  // Header fields carry bytes, so text beyond Latin-1 is sent as UTF-8.
  const bytes = Buffer.from(text).toString('latin1')
  if (!isFieldValue(bytes))
    throw new ModuleConfigError('a header value holds characters that a header cannot carry')
  const parts: (string | HeaderTemplate)[] = []
  let literalStart = 0
  for (const match of bytes.matchAll(/\$\{\s*([a-z_.]+)\s*\}/g)) {
    const variable = variables[match[1]!]
    if (variable === undefined) continue
    parts.push(bytes.slice(literalStart, match.index), variable)
    literalStart = match.index + match[0].length
  }
  parts.push(bytes.slice(literalStart))
  if (parts.length === 1) return () => bytes
  return (exchange, status) =>
    parts.map((part) => (typeof part === 'string' ? part : part(exchange, status))).join('')
}

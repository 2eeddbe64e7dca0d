import type { OutgoingHttpHeaders } from 'node:http2'
import { HeaderFields } from './fields.ts'

/** Converts field lines to Node's HTTP/2 headers: lower-case names, several values of a name as a list. */
export function toHttp2Headers(lines: string): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  for (const [name, value] of new HeaderFields(lines)) {
    const existing = headers[name]
    if (existing === undefined) headers[name] = value
    else if (Array.isArray(existing)) existing.push(value)
    else headers[name] = [String(existing), value]
  }
  return headers
}

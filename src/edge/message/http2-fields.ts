import type { OutgoingHttpHeaders } from 'node:http2'
import { Fields } from './fields.ts'

/** Field lines as HTTP/2 wants them: lower-case names, several values of a name as a list. */
export function toHeaders(lines: string): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  for (const [name, value] of new Fields(lines)) {
    const known = headers[name]
    if (known === undefined) headers[name] = value
    else if (Array.isArray(known)) known.push(value)
    else headers[name] = [String(known), value]
  }
  return headers
}

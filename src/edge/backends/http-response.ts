import type { HttpResponseBackend } from '../../resources/index.ts'
import { isFieldValue } from '../message/ascii.ts'
import type { EdgeResponse } from '../response.ts'
import type { OwnedRecord } from '../snapshot.ts'
import { emptyBackend } from './balancer.ts'
import type { BackendBuilder } from './context.ts'

/** Fields that frame the response or belong to the connection. Only the edge writes them. */
const EDGE_OWNED_FIELDS = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Sends the same response to every request. */
export const httpResponse: BackendBuilder<OwnedRecord<typeof HttpResponseBackend>> = (
  { status_code, headers, body },
  { http },
) => {
  if (!http) return emptyBackend
  let fields = ''
  for (const [name, value] of Object.entries(headers ?? {})) {
    // Header fields carry bytes, so text beyond Latin-1 is sent as UTF-8.
    const bytes = Buffer.from(value).toString('latin1')
    if (!EDGE_OWNED_FIELDS.has(name) && isFieldValue(bytes)) fields += `${name}: ${bytes}\r\n`
  }
  const response: EdgeResponse = { status: status_code, fields, body: Buffer.from(body) }
  return { isOnline: () => true, pick: () => response, pickNext: () => response }
}

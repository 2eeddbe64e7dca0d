import type { HttpResponseBackend } from '../../resources/index.ts'
import type { OwnedRecord } from '../contracts/snapshot.ts'
import { fieldLine } from '../message/field-values.ts'
import type { EdgeResponse } from '../response/response.ts'
import { emptyBackend } from './balancer.ts'
import type { BackendBuilder } from './context.ts'

/** Sends the same response to every request. */
export const httpResponse: BackendBuilder<OwnedRecord<typeof HttpResponseBackend>> = (
  { status_code, headers, body },
  { http },
) => {
  if (!http) return emptyBackend
  let fields = ''
  for (const [name, value] of Object.entries(headers ?? {})) fields += fieldLine(name, value) ?? ''
  const response: EdgeResponse = { status: status_code, fields, body: Buffer.from(body) }
  return { isOnline: () => true, pick: () => response, pickNext: () => response }
}

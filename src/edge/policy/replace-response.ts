import { HeaderFields } from '../message/fields.ts'
import type { EdgeResponse } from '../response/response.ts'
import type { ResponseExecution } from './execution.ts'

/** Puts a response of the edge in the place of the upstream's. */
export function replaceResponse(
  { response }: ResponseExecution,
  { status, fields, body }: EdgeResponse,
): void {
  const names = Array.from(response.fields, ([name]) => name)
  for (const name of names) response.fields.remove(name)
  for (const [name, value] of new HeaderFields(fields)) response.fields.add(name, value)
  response.status = status
  response.body = body
}

import type { HeaderFields } from '../../message/fields.ts'
import type { Implementation } from '../implement.ts'

/** Removes the fields and returns the names of those that were there. */
function removeFrom(fields: HeaderFields, names: readonly string[]): string[] {
  const removed = names.filter((name) => fields.get(name) !== undefined)
  for (const name of removed) fields.remove(name)
  return removed
}

export const removeHeaders: Implementation<'remove-headers'> = {
  on_http_request({ headers }) {
    const names = headers.map((name) => name.toLowerCase())
    return (execution) => {
      execution.results.remove_headers = { headers_removed: removeFrom(execution.exchange.fields, names) }
      execution.headersChanged()
      return undefined
    }
  },
  on_http_response({ headers }) {
    const names = headers.map((name) => name.toLowerCase())
    return (execution) => {
      execution.results.remove_headers = { headers_removed: removeFrom(execution.response.fields, names) }
      execution.headersChanged()
      return undefined
    }
  },
}

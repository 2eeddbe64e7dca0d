import type { Activation } from '../../../policy/index.ts'
import type { HeaderFields } from '../../message/fields.ts'
import type { Implementation } from '../implement.ts'

/** Fields that are compared with a name in one step. */
const FIELDS_PER_UNIT = 8

/** Removes the fields and returns the names of those that were there. */
function removeFrom(fields: HeaderFields, names: readonly string[], { budget }: Activation): string[] {
  budget.charge(1 + (fields.size * names.length) / FIELDS_PER_UNIT)
  const removed = names.filter((name) => fields.get(name) !== undefined)
  for (const name of removed) fields.remove(name)
  return removed
}

export const removeHeaders: Implementation<'remove-headers'> = {
  on_http_request({ headers }) {
    const names = headers.map((name) => name.toLowerCase())
    return (execution) => {
      execution.results.remove_headers = {
        headers_removed: removeFrom(execution.exchange.fields, names, execution),
      }
      execution.headersChanged()
      return undefined
    }
  },
  on_http_response({ headers }) {
    const names = headers.map((name) => name.toLowerCase())
    return (execution) => {
      execution.results.remove_headers = {
        headers_removed: removeFrom(execution.response.fields, names, execution),
      }
      execution.headersChanged()
      return undefined
    }
  },
}

import { ResponseHeaders, type Settings } from '../../resources/index.ts'
import { implementModule, type RequestStep } from '../contracts/module.ts'
import type { ModuleContext } from './context.ts'
import { compileEdits } from './header-edits.ts'

/** Adds and removes header fields of responses on their way to the client. */
export const responseHeaders = implementModule(ResponseHeaders, {
  phase: 'request',
  build({ add, remove }: Settings<typeof ResponseHeaders>, _context: ModuleContext) {
    return editResponses(Object.entries(add), remove)
  },
})

/** The same for pairs, because agents may add one name several times. */
export function editResponses(
  add: readonly (readonly [string, string])[],
  remove: readonly string[],
): RequestStep {
  const edit = compileEdits(add, remove)

  return (exchange) => {
    exchange.onResponse(({ fields, status }) => {
      edit(fields, exchange, status)
      return undefined
    })
    return undefined
  }
}

import { parseHostPort } from '../../base/values/hostport.ts'
import { RequestHeaders, type Settings } from '../../resources/index.ts'
import { implementModule, type RequestStep } from '../contracts/module.ts'
import { ModuleConfigError, type ModuleContext } from './context.ts'
import { compileEdits } from './header-edits.ts'

/** Adds and removes header fields of requests on their way to the upstream. */
export const requestHeaders = implementModule(RequestHeaders, {
  phase: 'request',
  build({ add, remove }: Settings<typeof RequestHeaders>, _context: ModuleContext) {
    return editRequests(Object.entries(add), remove)
  },
})

/** The same for pairs, because agents may add one name several times. */
export function editRequests(
  add: readonly (readonly [string, string])[],
  remove: readonly string[],
): RequestStep {
  // Host is no ordinary field: the edge writes it, exactly once.
  const hosts = add.filter(([name]) => name.toLowerCase() === 'host').map(([, value]) => value)
  const host = hosts.at(-1)
  if (host !== undefined && parseHostPort(host) === undefined) {
    throw new ModuleConfigError(`"${host}" cannot be sent as Host`)
  }
  const edit = compileEdits(
    add.filter(([name]) => name.toLowerCase() !== 'host'),
    remove,
  )

  return (exchange) => {
    edit(exchange.fields, exchange, 0)
    if (host !== undefined) exchange.authority = host
    return undefined
  }
}

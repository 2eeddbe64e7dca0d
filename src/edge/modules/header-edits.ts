import { isConnectionField } from '../../base/http/connection-fields.ts'
import type { Exchange } from '../contracts/exchange.ts'
import type { HeaderFields } from '../message/fields.ts'
import { ModuleConfigError } from './context.ts'
import { compileHeaderTemplate } from './template.ts'

/** Edits the fields of a message; `status` is that of the response, 0 for a request. */
export type EditFields = (fields: HeaderFields, exchange: Exchange, status: number) => void

/** Compiles removals and additions; a field named in both is replaced. Throws for fields that only the edge writes. */
export function compileEdits(
  add: Iterable<readonly [name: string, value: string]>,
  remove: readonly string[],
): EditFields {
  const additions = Array.from(add, ([name, value]) => ({
    name: name.toLowerCase(),
    value: compileHeaderTemplate(value),
  }))
  const reserved = additions.find(({ name }) => isConnectionField(name))
  if (reserved !== undefined)
    throw new ModuleConfigError(`${reserved.name} cannot be added, since it belongs to the connection`)
  const removals = remove.map((name) => name.toLowerCase())
  return (fields, exchange, status) => {
    for (const name of removals) fields.remove(name)
    for (const { name, value } of additions) fields.add(name, value(exchange, status))
  }
}

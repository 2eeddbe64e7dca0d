import type { Activation } from '../../../policy/index.ts'
import type { Implementation } from '../implement.ts'

type Config = Parameters<Implementation<'log'>['on_http_request']>[0]

const compile =
  ({ metadata }: Config) =>
  (execution: Activation & { log(fields: Readonly<Record<string, string>>): void }): undefined => {
    const fields = metadata.map(([name, value]) => [name, value.evaluate(execution)] as const)
    execution.results.log = { metadata: new Map(fields) }
    execution.log(Object.fromEntries(fields))
  }

export const log: Implementation<'log'> = {
  on_tcp_connect: compile,
  on_http_request: compile,
  on_http_response: compile,
}

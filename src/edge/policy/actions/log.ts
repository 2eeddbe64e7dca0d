import type { Activation } from '../../../policy/index.ts'
import type { Implementation } from '../implement.ts'

type Config = Parameters<Implementation<'log'>['on_http_request']>[0]

const compile =
  ({ metadata }: Config) =>
  (execution: Activation & { log(facts: Readonly<Record<string, string>>): void }): undefined => {
    const facts = metadata.map(([name, value]) => [name, value.evaluate(execution)] as const)
    execution.results.log = { metadata: new Map(facts) }
    execution.log(Object.fromEntries(facts))
  }

export const log: Implementation<'log'> = {
  on_tcp_connect: compile,
  on_http_request: compile,
  on_http_response: compile,
}

import { fromJson, type MapKey, type Value } from '../../../cel/index.ts'
import type { Activation, VarValue } from '../../../policy/index.ts'
import type { Implementation } from '../implement.ts'

type Config = Parameters<Implementation<'set-vars'>['on_http_request']>[0]

/** A text that is one `${}` and nothing else keeps the type of its value. */
function evaluate(value: VarValue, activation: Activation): Value {
  switch (value.kind) {
    case 'literal':
      return fromJson(value.value) ?? null
    case 'template':
      return value.template.evaluateValue(activation)
    case 'list':
      return value.elements.map((element) => evaluate(element, activation))
    case 'map':
      return new Map<MapKey, Value>(value.entries.map(([key, entry]) => [key, evaluate(entry, activation)]))
  }
}

const compile =
  ({ vars }: Config) =>
  (activation: Activation): undefined => {
    for (const { name, value } of vars) activation.vars.set(name, evaluate(value, activation))
  }

export const setVars: Implementation<'set-vars'> = {
  on_tcp_connect: compile,
  on_http_request: compile,
  on_http_response: compile,
}

import { Type } from 'typebox'
import { type ConfigField, described, type FieldContext, isMap, listOf, object, template } from '../config.ts'
import type { Template } from '../template.ts'
import { defineAction } from './define.ts'

const MAX_DEPTH = 5
/** As long as the response of an `http-request`. */
const MAX_RESULT_LENGTH = 256 * 1024
const MAX_VARS = 100

/** A value with `${}` anywhere inside. */
export type VarValue =
  | { readonly kind: 'template'; readonly template: Template }
  | { readonly kind: 'literal'; readonly value: number | boolean | null }
  | { readonly kind: 'list'; readonly elements: readonly VarValue[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [string, VarValue])[] }

export interface VarAssignment {
  readonly name: string
  readonly value: VarValue
}

const assignment: ConfigField<VarAssignment> = {
  schema: Type.Record(Type.String(), Type.Unknown(), { minProperties: 1, maxProperties: 1 }),
  read(entry, context) {
    const [name, ...others] = isMap(entry) ? Object.keys(entry) : []
    if (name === undefined || others.length > 0) {
      context.report('invalid_variable', 'each entry is a map with one name and its value')
      return { name: '', value: { kind: 'literal', value: null } }
    }
    if (!/^[A-Za-z_]\w{0,127}$/.test(name))
      context.report('invalid_variable', `"${name.slice(0, 60)}" cannot be the name of a variable`)
    return { name, value: readValue((entry as Record<string, unknown>)[name], context.child(name), 1) }
  },
}

function readValue(value: unknown, context: FieldContext, depth: number): VarValue {
  if (depth > MAX_DEPTH) {
    context.report('nested_too_deeply', `values are nested ${MAX_DEPTH} levels deep at most`)
    return { kind: 'literal', value: null }
  }
  if (typeof value === 'string')
    return {
      kind: 'template',
      template: template({ maxResultLength: MAX_RESULT_LENGTH }).read(value, context),
    }
  if (Array.isArray(value))
    return {
      kind: 'list',
      elements: value.map((element, index) => readValue(element, context.child(index), depth + 1)),
    }
  if (isMap(value))
    return {
      kind: 'map',
      entries: Object.entries(value).map(
        ([key, element]) => [key, readValue(element, context.child(key), depth + 1)] as const,
      ),
    }
  return { kind: 'literal', value: value as number | boolean | null }
}

/** One map of all variables means the same as a list of maps: names in a map have an order too. */
const listOrMap = <T>(list: ConfigField<T>): ConfigField<T> => ({
  ...list,
  read: (value, context) =>
    list.read(
      isMap(value) ? Object.entries(value).map(([name, entry]) => ({ [name]: entry })) : value,
      context,
    ),
})

export const setVars = defineAction({
  type: 'set-vars',
  description: 'Sets variables that later actions and rules of the same phase read as `vars.NAME`.',
  example: { vars: [{ tenant: "${endpoint.host.split('.')[0]}" }] },
  phases: ['on_tcp_connect', 'on_http_request', 'on_http_response'],
  config: object({
    vars: described(
      listOrMap(listOf(assignment, { minItems: 1, maxItems: MAX_VARS })),
      'maps of one name and its value; a value that is one expression and nothing else keeps its type',
    ),
  }),
})

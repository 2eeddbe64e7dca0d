import { stringify } from 'yaml'
import type { Environment, Overload } from '../cel/index.ts'
import { macroForms, standardLibrary, type Type, typeText } from '../cel/index.ts'
import { actions } from './actions/index.ts'
import { describeFields, type FieldDescription } from './language-fields.ts'
import { PHASE_DESCRIPTIONS, PHASES, type PhaseName } from './phases.ts'
import { environments } from './variables/index.ts'

/** The language of traffic policies as data, for the reference page and for editors. */
export interface PolicyLanguage {
  readonly phases: readonly { readonly name: PhaseName; readonly description: string }[]
  readonly actions: readonly ActionDescription[]
  readonly variables: readonly VariableDescription[]
  readonly functions: readonly FunctionDescription[]
}

export interface ActionDescription {
  readonly type: string
  readonly aliases: readonly string[]
  readonly description: string
  readonly phases: readonly PhaseName[]
  readonly ends: 'always' | 'sometimes' | 'never'
  readonly fields: readonly FieldDescription[]
  /** What later expressions read of it, with `actions.ngrok` before. */
  readonly results: readonly { readonly name: string; readonly type: string }[]
  /** An entry of `actions` in YAML. */
  readonly example: string
}

export interface VariableDescription {
  /** Such as `conn.client_ip`; `[]` stands for an index or a key. */
  readonly name: string
  readonly type: string
  readonly phases: readonly PhaseName[]
}

export interface FunctionDescription {
  readonly name: string
  /** Such as `string.lower() -> string`. */
  readonly signature: string
  readonly phases: readonly PhaseName[]
  /** Whether it is called on a value. */
  readonly receiver: boolean
  /** Whether every CEL has it. */
  readonly standard: boolean
}

/** Describes the language from the declarations that the validator uses. */
export function describeLanguage(): PolicyLanguage {
  return {
    phases: PHASES.map((name) => ({ name, description: PHASE_DESCRIPTIONS[name] })),
    actions: actions.map(({ type, aliases, description, phases, ends, config, results, ...action }) => ({
      type,
      aliases,
      description,
      phases,
      ends,
      fields: describeFields(config.schema),
      results: Object.entries(results).flatMap(([name, result]) =>
        fieldsOf(`actions.ngrok.${action.resultName}.${name}`, result),
      ),
      example: stringify([
        { type, ...(Object.keys(action.example).length > 0 && { config: action.example }) },
      ]),
    })),
    variables: describeVariables(),
    functions: [
      ...macroForms().map((signature) => ({
        name: /^(?:e\.)?(\w+)\(/.exec(signature)![1]!,
        signature,
        receiver: signature.startsWith('e.'),
        phases: PHASES,
        standard: true,
      })),
      ...describeOverloads(standardLibrary, true),
      ...describeOverloads(environments.on_http_response.functions, false),
    ],
  }
}

const ENVIRONMENTS = Object.entries(environments) as [PhaseName, Environment][]

function describeVariables(): VariableDescription[] {
  const [, { variables }] = ENVIRONMENTS.findLast(([phase]) => phase === 'on_http_response')!
  return [...variables]
    .filter(([name]) => name !== 'actions')
    .flatMap(([root, { type }]) => {
      const phases = ENVIRONMENTS.filter(([, each]) => each.variables.has(root)).map(([phase]) => phase)
      return fieldsOf(root, type).map((field) => ({ ...field, phases }))
    })
}

/** A value and the fields below it. */
function fieldsOf(name: string, type: Type): { name: string; type: string }[] {
  if (type.kind === 'list') return [{ name, type: shownType(type) }, ...innerFields(`${name}[]`, type.inner)]
  if (type.kind === 'map') return [{ name, type: shownType(type) }, ...innerFields(`${name}[]`, type.value)]
  return [{ name, type: shownType(type) }, ...innerFields(name, type)]
}

function innerFields(name: string, type: Type): { name: string; type: string }[] {
  if (type.kind === 'list') return innerFields(`${name}[]`, type.inner)
  if (type.kind !== 'object') return []
  return Object.entries(type.shape.fields).flatMap(([key, field]) => fieldsOf(`${name}.${key}`, field.type))
}

/** An object that is also a text is used as one. */
const shownType = (type: Type): string =>
  type.kind === 'object' ? (type.shape.text === undefined ? 'object' : 'string') : typeText(type)

function describeOverloads(overloads: readonly Overload[], standard: boolean): FunctionDescription[] {
  return overloads
    .filter(({ name }) => /^[a-z]/i.test(name))
    .map((overload) => ({
      name: overload.name,
      signature: signatureOf(overload),
      receiver: overload.receiver,
      phases: ENVIRONMENTS.filter(([, each]) => each.overloads(overload.name).includes(overload)).map(
        ([phase]) => phase,
      ),
      standard,
    }))
}

function signatureOf({ name, receiver, parameters, result }: Overload): string {
  const types = parameters.map(typeText)
  const head = receiver ? `${types.shift()}.` : ''
  return `${head}${name}(${types.join(', ')}) -> ${typeText(result)}`
}

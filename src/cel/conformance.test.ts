import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tests as suite } from '@bufbuild/cel-spec/testdata/conformance.js'
import type { SerializedIncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js'
import { compile } from './compile.ts'
import { diagnosticText } from './diagnostic.ts'
import { Environment, type Variable } from './environment.ts'
import type { Overload } from './overload.ts'
import { durationText, parseDuration, parseTimestamp, timestampText } from './time.ts'
import { type SimpleKind, type Type, typeText } from './types.ts'
import {
  Double,
  Duration,
  EvaluationError,
  int,
  isInt,
  isList,
  keysOf,
  lookUp,
  mapFrom,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts'

/** A case of the suite, as its JSON says it. */
interface Case {
  readonly name?: string
  readonly expr: string
  readonly container?: string
  readonly disableCheck?: boolean
  readonly checkOnly?: boolean
  readonly typeEnv?: readonly Declaration[]
  readonly bindings?: Readonly<Record<string, { value: JsonValue }>>
  readonly value?: JsonValue
  readonly typedResult?: { readonly result?: JsonValue; readonly deducedType: JsonType }
  readonly evalError?: unknown
}

interface Declaration {
  readonly name: string
  readonly ident?: { readonly type: JsonType }
  readonly function?: { readonly overloads: readonly JsonOverload[] }
}

interface JsonOverload {
  readonly params?: readonly JsonType[]
  readonly resultType: JsonType
  readonly isInstanceFunction?: boolean
}

// biome-ignore lint/suspicious/noExplicitAny: one key of many says which kind of value or type it is
type JsonValue = Readonly<Record<string, any>>
type JsonType = JsonValue

const UNDECLARED = /^(?:x|f_unknown\(17\)|a\.\w+\(\)) \|\| true$/
const HETEROGENEOUS = [
  'not_eq_list_length',
  'eq_mixed_types',
  'eq_list_elem_mixed_types',
  'ne_mixed_types',
  'mixed_type',
  'short_circuit_type_left',
  'short_circuit_type_right',
]

/** Why a case does not apply, and how many there are. Everything else has to pass. */
const EXEMPTIONS: readonly {
  reason: string
  count: number
  applies: (json: string, test: Case) => boolean
}[] = [
  {
    reason: 'Protobuf messages, enums, wrappers and Any: the values of Adit are declared, not messages.',
    count: 693,
    applies: (json) =>
      /"container":"(?:google|cel)\.|TestAllTypes|NestedEnum|enumValue|google\.protobuf\.(?!Timestamp\b|Duration\b)|\bproto\.(?:has|get)Ext/.test(
        json,
      ),
  },
  {
    reason:
      'Values of expressions that the checker rejects: Adit evaluates none, and reports the mistake to their author.',
    count: 28,
    applies: (_json, { disableCheck, value, name, expr }) =>
      disableCheck === true &&
      value !== undefined &&
      (UNDECLARED.test(expr) || HETEROGENEOUS.includes(name ?? '')),
  },
  {
    reason: 'Containers: all names of an environment are in one namespace.',
    count: 2,
    applies: (_json, { container }) => container !== undefined,
  },
]

/** How many cases apply, and pass. */
const CASES = 1621

const PRIMITIVES: Readonly<Record<string, SimpleKind>> = {
  BOOL: 'bool',
  INT64: 'int',
  UINT64: 'uint',
  DOUBLE: 'double',
  STRING: 'string',
  BYTES: 'bytes',
}

function toType(json: JsonType): Type {
  if ('primitive' in json) return { kind: PRIMITIVES[json.primitive]! }
  if ('messageType' in json) return { kind: json.messageType.endsWith('Duration') ? 'duration' : 'timestamp' }
  if ('wellKnown' in json) return { kind: json.wellKnown.toLowerCase() }
  if ('listType' in json) return { kind: 'list', inner: toType(json.listType.elemType) }
  if ('mapType' in json)
    return { kind: 'map', key: toType(json.mapType.keyType), value: toType(json.mapType.valueType) }
  if ('typeParam' in json) return { kind: 'parameter', name: json.typeParam }
  if ('type' in json)
    return { kind: 'type', inner: Object.keys(json.type).length === 0 ? { kind: 'dyn' } : toType(json.type) }
  if ('abstractType' in json)
    return {
      kind: 'opaque',
      name: json.abstractType.name,
      parameters: (json.abstractType.parameterTypes ?? []).map(toType),
    }
  return { kind: 'null' in json ? 'null_type' : 'dyn' }
}

function toValue(json: JsonValue): Value {
  const [[kind, content]] = Object.entries(json) as [[string, never]]
  switch (kind) {
    case 'int64Value':
      return int(BigInt(content))
    case 'uint64Value':
      return new Uint(BigInt(content))
    case 'doubleValue':
      return new Double(Number(content))
    case 'bytesValue':
      return new Uint8Array(Buffer.from(content, 'base64'))
    case 'typeValue':
      return new TypeValue(content)
    case 'listValue':
      return ((content as JsonValue).values ?? []).map(toValue)
    case 'mapValue':
      return mapFrom(
        ((content as JsonValue).entries ?? []).map(({ key, value }: JsonValue) => [
          toValue(key),
          toValue(value),
        ]),
      )
    case 'objectValue':
      return (content as JsonValue)['@type'].endsWith('Duration')
        ? parseDuration((content as JsonValue).value)
        : parseTimestamp((content as JsonValue).value)
    default:
      return content
  }
}

/** A value as plain data that can be compared: the types show, the order of a map's entries does not. */
function comparable(value: Value): unknown {
  if (isInt(value)) return `int ${value}`
  if (value instanceof Uint) return `uint ${value.value}`
  if (value instanceof Double) return { double: value.value }
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') }
  if (value instanceof Timestamp) return { timestamp: timestampText(value) }
  if (value instanceof Duration) return { duration: durationText(value) }
  if (value instanceof TypeValue) return { type: value.name }
  if (value instanceof Optional) return { optional: value.value === undefined ? [] : comparable(value.value) }
  if (isList(value)) return value.map(comparable)
  if (value instanceof Map)
    return new Set(keysOf(value).map((key) => [comparable(key), comparable(lookUp(value, key)!)]))
  return value
}

function environmentOf({ typeEnv = [], bindings = {} }: Case): Environment {
  const variables: Record<string, Variable> = {}
  const functions: Overload[] = []
  for (const [name, { value }] of Object.entries(bindings)) {
    const content = toValue(value)
    variables[name] = { type: { kind: 'dyn' }, read: () => content }
  }
  for (const declaration of typeEnv) {
    const { name, ident } = declaration
    if (ident !== undefined)
      variables[name] = { type: toType(ident.type), read: variables[name]?.read ?? (() => undefined) }
    for (const { params = [], resultType, isInstanceFunction = false } of declaration.function?.overloads ??
      [])
      functions.push({
        name,
        receiver: isInstanceFunction,
        parameters: params.map(toType),
        result: toType(resultType),
        call: () => {
          throw new EvaluationError('the suite declares the function without behaviour')
        },
      })
  }
  return new Environment({ variables, functions })
}

function run(specimen: Case): void {
  const compilation = compile(specimen.expr, environmentOf(specimen))
  if (!compilation.ok) {
    assert.ok(specimen.evalError, compilation.errors.map(diagnosticText).join('\n'))
    return
  }
  const { program } = compilation
  if (specimen.typedResult !== undefined)
    assert.equal(typeText(program.type), typeText(toType(specimen.typedResult.deducedType)))
  if (specimen.checkOnly) return
  if (specimen.evalError !== undefined) {
    assert.throws(() => program.evaluate({}), EvaluationError)
    return
  }
  const expected = specimen.value ?? specimen.typedResult?.result ?? { boolValue: true }
  assert.deepEqual(comparable(program.evaluate({})), comparable(toValue(expected)))
}

const exempted = new Map(EXEMPTIONS.map(({ reason }) => [reason, 0]))
let passed = 0

/** The failures of a group, with its subgroups. */
function failuresOf(group: SerializedIncrementalTestSuite, path: string): string[] {
  const failures: string[] = []
  for (const { original } of group.tests ?? []) {
    const specimen = original as unknown as Case
    const exemption = EXEMPTIONS.find(({ applies }) => applies(JSON.stringify(original), specimen))
    if (exemption !== undefined) {
      exempted.set(exemption.reason, exempted.get(exemption.reason)! + 1)
      continue
    }
    try {
      run(specimen)
      passed++
    } catch (error) {
      failures.push(`${path}/${specimen.name}: ${specimen.expr}\n${(error as Error).message}`)
    }
  }
  return failures.concat((group.suites ?? []).flatMap((inner) => failuresOf(inner, `${path}/${inner.name}`)))
}

for (const group of suite.suites ?? []) {
  test(`the conformance cases of ${group.name} pass`, () => {
    assert.deepEqual(failuresOf(group, group.name), [])
  })
}

test('the cases that do not apply are those with a reason', () => {
  assert.deepEqual(
    EXEMPTIONS.map(({ reason }) => exempted.get(reason)),
    EXEMPTIONS.map(({ count }) => count),
  )
  assert.equal(passed, CASES)
})

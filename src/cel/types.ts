/** The type of an expression, as the checker deduces it. */
export type Type =
  | { readonly kind: SimpleKind }
  | { readonly kind: 'list'; readonly inner: Type }
  | { readonly kind: 'map'; readonly key: Type; readonly value: Type }
  /** The type of a type; `inner` is the type that it names. */
  | { readonly kind: 'type'; readonly inner: Type }
  /** A type that only functions look into, such as `optional_type(int)`. */
  | { readonly kind: 'opaque'; readonly name: string; readonly parameters: readonly Type[] }
  | { readonly kind: 'object'; readonly shape: Shape }
  | { readonly kind: 'parameter'; readonly name: string }

export type SimpleKind = (typeof SIMPLE_KINDS)[number]

export const SIMPLE_KINDS = [
  'bool',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'duration',
  'timestamp',
  'null_type',
  'dyn',
] as const

/** One field of an object. `read` is given the object's source and returns undefined when the field is absent. */
export interface Field {
  readonly type: Type
  readonly read: (source: never) => unknown
  /** What an absent field is read as, while `has()` still tells that it is absent; without it the evaluation fails. */
  readonly fallback?: unknown
}

/**
 * A value with declared fields. With `text` it is also a string: it compares, converts and concatenates as that text, and
 * only a selection sees its fields.
 */
export interface Shape {
  readonly name: string
  readonly fields: Readonly<Record<string, Field>>
  readonly text?: (source: never) => string
}

export const BOOL: Type = { kind: 'bool' }
export const INT: Type = { kind: 'int' }
export const UINT: Type = { kind: 'uint' }
export const DOUBLE: Type = { kind: 'double' }
export const STRING: Type = { kind: 'string' }
export const BYTES: Type = { kind: 'bytes' }
export const DURATION: Type = { kind: 'duration' }
export const TIMESTAMP: Type = { kind: 'timestamp' }
export const NULL: Type = { kind: 'null_type' }
export const DYN: Type = { kind: 'dyn' }

export const listOf = (inner: Type): Type => ({ kind: 'list', inner })
export const mapOf = (key: Type, value: Type): Type => ({ kind: 'map', key, value })
export const optionalOf = (inner: Type): Type => ({
  kind: 'opaque',
  name: 'optional_type',
  parameters: [inner],
})
export const objectOf = (shape: Shape): Type => ({ kind: 'object', shape })

/** The type inside an optional; undefined when the type is no optional. */
export function insideOptional(type: Type): Type | undefined {
  return type.kind === 'opaque' && type.name === 'optional_type' ? type.parameters[0] : undefined
}

/** A type as it is written in messages. */
export function typeText(type: Type): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeText(type.inner)})`
    case 'map':
      return `map(${typeText(type.key)}, ${typeText(type.value)})`
    case 'type':
      return `type(${typeText(type.inner)})`
    case 'opaque':
      return type.parameters.length === 0
        ? type.name
        : `${type.name}(${type.parameters.map(typeText).join(', ')})`
    case 'object':
      return type.shape.name
    case 'parameter':
      return type.name
    default:
      return type.kind
  }
}

/** The types that a type is composed of. */
export function partsOf(type: Type): readonly Type[] {
  switch (type.kind) {
    case 'list':
    case 'type':
      return [type.inner]
    case 'map':
      return [type.key, type.value]
    case 'opaque':
      return type.parameters
    default:
      return []
  }
}

/** The same type with every part replaced. */
export function withParts(type: Type, replace: (part: Type) => Type): Type {
  switch (type.kind) {
    case 'list':
    case 'type':
      return { kind: type.kind, inner: replace(type.inner) }
    case 'map':
      return { kind: 'map', key: replace(type.key), value: replace(type.value) }
    case 'opaque':
      return { kind: 'opaque', name: type.name, parameters: type.parameters.map(replace) }
    default:
      return type
  }
}

import type { Field, Shape } from './types.ts'

/**
 * A value at run time. An int is a number while it is a safe integer and a bigint beyond, so that equal ints are always
 * identical; doubles and uints, which are rare in policies, are wrapped.
 */
export type Value =
  | null
  | boolean
  | string
  | number
  | bigint
  | Double
  | Uint
  | Uint8Array
  | Duration
  | Timestamp
  | readonly Value[]
  | MapValue
  | TypeValue
  | Optional
  | Struct
  | Opaque

export type Int = number | bigint

/** A key as maps store it: numbers that are equal are one key. */
export type MapKey = string | boolean | Int

export type MapValue = ReadonlyMap<MapKey, Value>

/** A map some of whose keys are uints, which it has to return as uints. */
class UintKeyMap extends Map<MapKey, Value> {
  readonly uintKeys = new Set<MapKey>()
}

export class Double {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

export class Uint {
  readonly value: bigint
  constructor(value: bigint) {
    this.value = value
  }
}

/** A span of time in nanoseconds. */
export class Duration {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** A moment, in nanoseconds since 1970 UTC. */
export class Timestamp {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }

  static fromMillis(millis: number): Timestamp {
    return new Timestamp(BigInt(Math.round(millis)) * 1_000_000n)
  }
}

/** A type as a value: what `type(x)` returns. */
export class TypeValue {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/** A value or nothing. */
export class Optional {
  readonly value: Value | undefined
  constructor(value: Value | undefined) {
    this.value = value
  }
}

export const NONE = new Optional(undefined)

/** A value with declared fields, which are read from its source when they are selected. */
export class Struct {
  readonly shape: Shape
  readonly source: unknown
  constructor(shape: Shape, source: unknown) {
    this.shape = shape
    this.source = source
  }

  /** The field; undefined when it is absent or not declared. */
  get(name: string): Value | undefined {
    return this.#read(name, () => undefined)
  }

  /** The same with what an absent field is read as. */
  getOrFallback(name: string): Value | undefined {
    return this.#read(name, ({ fallback }) => fallback)
  }

  #read(name: string, whenAbsent: (field: Field) => unknown): Value | undefined {
    if (!Object.hasOwn(this.shape.fields, name)) return undefined
    const field = this.shape.fields[name]!
    const known = field.read(this.source as never)
    const value = known === undefined ? whenAbsent(field) : known
    if (value === undefined) return undefined
    if (field.type.kind !== 'object' || value instanceof Struct) return value as Value
    const { shape } = field.type
    return shape.text === undefined ? new Struct(shape, value) : shape.text(value as never)
  }
}

/** A value that only the functions of its environment understand. */
export class Opaque {
  readonly typeName: string
  readonly content: unknown
  constructor(typeName: string, content: unknown) {
    this.typeName = typeName
    this.content = content
  }
}

/** An evaluation that failed: a missing key, an overflow, a wrong type. `&&` and `||` ignore it when the other side decides. */
export class EvaluationError extends Error {
  override name = 'EvaluationError'
}

/** A declared field that is absent: a fact that is not known, a result that an action did not have. */
export class AbsentField extends EvaluationError {
  override name = 'AbsentField'
}

/** The evaluation spent its budget. No operator ignores it: whatever the expression guards must deny. */
export class CostExceeded extends Error {
  override name = 'CostExceeded'
}

const MAX_INT = 2n ** 63n - 1n
const MIN_INT = -(2n ** 63n)
const MAX_UINT = 2n ** 64n - 1n

/** The int with this value. Throws when it exceeds 64 bits. */
export function int(value: bigint): Int {
  const small = Number(value)
  if (Number.isSafeInteger(small)) return small
  if (value > MAX_INT || value < MIN_INT) throw new EvaluationError('integer overflow')
  return value
}

/** The uint with this value. Throws when it is negative or exceeds 64 bits. */
export function uint(value: bigint): Uint {
  if (value > MAX_UINT || value < 0n) throw new EvaluationError('unsigned integer overflow')
  return new Uint(value)
}

export const isInt = (value: Value): value is Int => typeof value === 'number' || typeof value === 'bigint'
export const isList = (value: Value): value is readonly Value[] => Array.isArray(value)

/** Returns the name of a value's type, as `type(x)` and messages show it. */
export function typeName(value: Value): string {
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  if (isInt(value)) return 'int'
  if (value === null) return 'null_type'
  if (isList(value)) return 'list'
  if (value instanceof Map) return 'map'
  if (value instanceof Double) return 'double'
  if (value instanceof Uint) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp'
  if (value instanceof Duration) return 'google.protobuf.Duration'
  if (value instanceof TypeValue) return 'type'
  if (value instanceof Optional) return 'optional_type'
  if (value instanceof Struct) return value.shape.name
  return (value as Opaque).typeName
}

/** The key under which a map stores a value; undefined for a value that cannot be a key. */
export function mapKey(value: Value): MapKey | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || isInt(value)) return value
  if (value instanceof Uint) return canonical(value.value)
  if (value instanceof Double && Number.isInteger(value.value)) return canonical(BigInt(value.value))
  return undefined
}

const canonical = (value: bigint): Int => {
  const small = Number(value)
  return Number.isSafeInteger(small) ? small : value
}

/** The keys of a map as values. */
export function keysOf(map: MapValue): Value[] {
  if (!(map instanceof UintKeyMap)) return [...map.keys()]
  return [...map.keys()].map((key) => (map.uintKeys.has(key) ? new Uint(BigInt(key)) : key))
}

/** Builds a map from entries. Throws for a key that is repeated or of a type that cannot be a key. */
export function mapFrom(entries: Iterable<readonly [Value, Value]>): MapValue {
  const map = new UintKeyMap()
  for (const [key, value] of entries) {
    const stored = key instanceof Double ? undefined : mapKey(key)
    if (stored === undefined) throw new EvaluationError(`unsupported key type ${typeName(key)}`)
    if (map.has(stored)) throw new EvaluationError(`repeated key ${String(stored)}`)
    if (key instanceof Uint) map.uintKeys.add(stored)
    map.set(stored, value)
  }
  return map.uintKeys.size === 0 ? new Map(map) : map
}

/** Looks up a key or index; undefined when the list or map has none such. Throws for a key of a wrong type. */
export function lookUp(container: Value, key: Value): Value | undefined {
  if (isList(container)) {
    const index = mapKey(key)
    if (typeof index !== 'number' && typeof index !== 'bigint')
      throw new EvaluationError(`invalid list index of type ${typeName(key)}`)
    return container[Number(index)]
  }
  if (container instanceof Map) {
    const stored = mapKey(key)
    if (stored === undefined && !(key instanceof Double))
      throw new EvaluationError(`unsupported key type ${typeName(key)}`)
    return stored === undefined ? undefined : (container as MapValue).get(stored)
  }
  if (container instanceof Struct && typeof key === 'string') return container.get(key)
  throw new EvaluationError(`no such overload: ${typeName(container)} has no elements`)
}

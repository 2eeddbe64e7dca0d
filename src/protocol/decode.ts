import type Type from 'typebox'
import { Value } from 'typebox/value'
import { pathOfNul } from '../base/text/nul.ts'
import { protocolError } from './errors.ts'

/** The parts of a schema that define field names. */
interface Shape {
  properties?: Record<string, Shape>
  items?: Shape
}

/**
 * Decodes a message by its schema. Field names match in any case, because the SDKs spell some of them differently; null
 * counts as absent; unknown fields are dropped. Throws an error that names the first invalid field.
 */
export function decode<S extends Type.TSchema>(
  schema: S,
  message: unknown,
  errorKey: 'auth_undecodable' | 'message_undecodable' = 'message_undecodable',
): Type.Static<S> {
  const value = canonicalize(schema as Shape, message)
  const nul = pathOfNul(value)
  if (nul !== undefined)
    throw protocolError(errorKey, `${nul || 'the message'} holds U+0000, which is not allowed.`)
  if (Value.Check(schema, value)) return value as Type.Static<S>
  const [first] = Value.Errors(schema, value)
  const where = first?.instancePath.slice(1).replaceAll('/', '.') || 'the message'
  throw protocolError(errorKey, `${where} ${first?.message ?? 'is not valid'}.`)
}

/** The raw value of a field, matching its name in any case; for fields that are echoed unchanged. */
export function rawField(message: Record<string, unknown>, name: string): unknown {
  const lowerCaseName = name.toLowerCase()
  const key = Object.keys(message).find((key) => key.toLowerCase() === lowerCaseName)
  return key === undefined ? undefined : message[key]
}

function canonicalize(shape: Shape, value: unknown): unknown {
  const { items } = shape
  if (Array.isArray(value))
    return items === undefined ? value : value.map((item) => canonicalize(items, item))
  if (shape.properties === undefined || typeof value !== 'object' || value === null) return value
  const byLowerCase = new Map(Object.keys(value).map((key) => [key.toLowerCase(), key]))
  const result: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(shape.properties)) {
    const key = Object.hasOwn(value, name) ? name : byLowerCase.get(name.toLowerCase())
    const field = key === undefined ? undefined : (value as Record<string, unknown>)[key]
    if (field !== undefined && field !== null) result[name] = canonicalize(inner, field)
  }
  return result
}

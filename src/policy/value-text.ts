import { durationText, timestampText } from './cel/time.ts'
import {
  Double,
  Duration,
  isInt,
  isList,
  keysOf,
  lookUp,
  type MapValue,
  Optional,
  Struct,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './cel/values.ts'

/** A value as text: in `${}`, and wherever else a text is made of it. Lists and maps become JSON. */
export function valueText(value: Value): string {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (value instanceof Timestamp) return timestampText(value)
  if (value instanceof Duration) return durationText(value)
  if (value instanceof TypeValue) return value.name
  if (value === null) return ''
  return JSON.stringify(toJson(value))
}

/** A value as JSON. Numbers beyond the doubles lose digits, as everywhere in JSON. */
export function toJson(value: Value): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (isInt(value)) return Number(value)
  if (value instanceof Double) return value.value
  if (value instanceof Uint) return Number(value.value)
  if (isList(value)) return value.map(toJson)
  if (value instanceof Map) return mapToJson(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Optional) return value.value === undefined ? null : toJson(value.value)
  if (value instanceof Struct) return structToJson(value)
  return valueText(value)
}

function mapToJson(map: MapValue): unknown {
  return Object.fromEntries(keysOf(map).map((key) => [valueText(key), toJson(lookUp(map, key)!)]))
}

function structToJson(struct: Struct): unknown {
  if (struct.shape.text !== undefined) return struct.shape.text(struct.source as never)
  const entries = Object.keys(struct.shape.fields).flatMap((name) => {
    const value = struct.get(name)
    return value === undefined ? [] : [[name, toJson(value)] as const]
  })
  return Object.fromEntries(entries)
}

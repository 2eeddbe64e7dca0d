import type { Meter } from '../cel/index.ts'
import {
  chargeLength,
  Double,
  Duration,
  durationText,
  isInt,
  isList,
  keysOf,
  lookUp,
  type MapValue,
  Optional,
  Struct,
  Timestamp,
  TypeValue,
  timestampText,
  Uint,
  type Value,
} from '../cel/index.ts'

/** What JSON takes for each value, and for each character that it may have to escape. */
const JSON_COST = 4

/** A value as text: in `${}`, and wherever else a text is made of it. Lists and maps become JSON. */
export function valueText(value: Value, meter: Meter): string {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) {
    chargeLength(meter, value.length)
    return Buffer.from(value).toString()
  }
  if (value instanceof Timestamp) return timestampText(value)
  if (value instanceof Duration) return durationText(value)
  if (value instanceof TypeValue) return value.name
  if (value === null) return ''
  return JSON.stringify(toJson(value, meter))
}

/**
 * A value as JSON. Numbers beyond the doubles lose digits, as everywhere in JSON. Charged before it is built: a list may hold
 * another one many times, which JSON has to repeat.
 */
export function toJson(value: Value, meter: Meter): unknown {
  meter.charge(JSON_COST)
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string') return chargedText(value, meter)
  if (isInt(value)) return Number(value)
  if (value instanceof Double) return value.value
  if (value instanceof Uint) return Number(value.value)
  if (isList(value)) return value.map((element) => toJson(element, meter))
  if (value instanceof Map) return mapToJson(value, meter)
  if (value instanceof Uint8Array) {
    chargeLength(meter, value.length)
    return Buffer.from(value).toString('base64')
  }
  if (value instanceof Optional) return value.value === undefined ? null : toJson(value.value, meter)
  if (value instanceof Struct) return structToJson(value, meter)
  return valueText(value, meter)
}

function chargedText(text: string, meter: Meter): string {
  chargeLength(meter, text.length * JSON_COST)
  return text
}

function mapToJson(map: MapValue, meter: Meter): unknown {
  return Object.fromEntries(
    keysOf(map).map((key) => [chargedText(valueText(key, meter), meter), toJson(lookUp(map, key)!, meter)]),
  )
}

function structToJson(struct: Struct, meter: Meter): unknown {
  if (struct.shape.text !== undefined) return chargedText(struct.shape.text(struct.source as never), meter)
  const entries = Object.keys(struct.shape.fields).flatMap((name) => {
    const value = struct.get(name)
    return value === undefined ? [] : [[name, toJson(value, meter)] as const]
  })
  return Object.fromEntries(entries)
}

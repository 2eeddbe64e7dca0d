import { Double, type MapKey, type Value } from './values.ts'

/** JSON as a value; undefined, for what is absent, stays undefined. Whole numbers become ints. */
export function fromJson(json: unknown): Value | undefined {
  if (typeof json === 'number') return Number.isSafeInteger(json) ? json : new Double(json)
  if (typeof json !== 'object' || json === null) return json as Value | undefined
  if (Array.isArray(json)) return json.map((element) => fromJson(element) ?? null)
  const map = new Map<MapKey, Value>()
  for (const [key, value] of Object.entries(json)) map.set(key, fromJson(value) ?? null)
  return map
}

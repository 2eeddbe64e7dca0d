import type { MapKey, Value } from '../../cel/index.ts'

/** Header fields by their lower-case names, found whatever case a policy writes. */
export class HeaderMap<V extends Value> extends Map<MapKey, V> {
  override get(name: MapKey): V | undefined {
    return super.get(lowerCase(name))
  }

  override has(name: MapKey): boolean {
    return super.has(lowerCase(name))
  }
}

const lowerCase = (name: MapKey) => (typeof name === 'string' ? name.toLowerCase() : name)

import { prefixOf } from '../base/values/id.ts'
import { MAX_WEIGHT } from '../base/values/weighted-round-robin.ts'
import { BACKEND_PREFIXES } from './modules/backend.ts'
import { common, defineResource, editable } from './schema/define.ts'
import { InvalidValue, idSchema, integer, map, type Pointer } from './schema/value.ts'

const backendPrefixes: readonly string[] = BACKEND_PREFIXES

const weightsById = map(integer(0, MAX_WEIGHT, 0), {
  maxItems: 100,
  name(id, path) {
    if (!backendPrefixes.includes(prefixOf(id) ?? ''))
      throw new InvalidValue(path, `${path}: "${id}" is not the id of a backend.`)
    return id
  },
})

const weights = {
  ...weightsById,
  written: { ...weightsById.written, propertyNames: idSchema(backendPrefixes) },
  pointers: (entries: Record<string, number>): Pointer[] =>
    Object.keys(entries).map((target) => ({
      target,
      prefixes: backendPrefixes,
      onDelete: 'restrict',
      path: target,
    })),
}

/** Distributes traffic over backends by weight. */
export const WeightedBackend = defineResource({
  name: 'weighted backend',
  description: 'Backends that split traffic by weight.',
  path: '/backends/weighted',
  prefix: 'bkdwd',
  listKey: 'backends',
  event: 'weighted_backend',
  fields: {
    ...common,
    backends: editable(weights, 'The weight of each backend, by its ID; from 0 to 10000.'),
  },
})

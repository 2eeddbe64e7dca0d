import { prefixOf } from '../base/id.ts'
import { common, defineResource, editable } from './define.ts'
import { BACKEND_PREFIXES } from './modules/backend.ts'
import { InvalidValue, idSchema, integer, map, type Pointer } from './value.ts'

const prefixes: readonly string[] = BACKEND_PREFIXES

const byId = map(integer(0, 10_000, 0), {
  maxItems: 100,
  name(id, at) {
    if (!prefixes.includes(prefixOf(id) ?? ''))
      throw new InvalidValue(at, `${at}: "${id}" is not the id of a backend.`)
    return id
  },
})

const weights = {
  ...byId,
  written: { ...byId.written, propertyNames: idSchema(prefixes) },
  pointers: (entries: Record<string, number>): Pointer[] =>
    Object.keys(entries).map((target) => ({ target, prefixes, onDelete: 'restrict', at: target })),
}

/** Shares traffic among backends by weight. */
export const WeightedBackend = defineResource({
  name: 'weighted backend',
  path: '/backends/weighted',
  prefix: 'bkdwd',
  listKey: 'backends',
  event: 'weighted_backend',
  fields: { ...common, backends: editable(weights) },
})

import { BACKEND_PREFIXES } from './modules/backend.ts'
import { common, defineResource, editable } from './schema/define.ts'
import { documentedAs, idOf, list } from './schema/value.ts'

/** Sends traffic to the first of its backends that is available. */
export const FailoverBackend = defineResource({
  name: 'failover backend',
  description: 'Backends that send traffic to the first child backend that is online.',
  path: '/backends/failover',
  prefix: 'bkdfo',
  listKey: 'backends',
  event: 'failover_backend',
  fields: {
    ...common,
    backends: editable(
      documentedAs(
        list(idOf(BACKEND_PREFIXES), {
          maxItems: 100,
          rule: (ids) => (new Set(ids).size === ids.length ? undefined : 'names the same backend twice.'),
        }),
        { uniqueItems: true },
      ),
      'The backends in order: the first that is online receives the traffic.',
    ),
  },
})

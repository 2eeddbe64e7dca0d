import { common, defineResource, editable, live } from './schema/define.ts'
import { documentedAs, InvalidValue, map, matching, references } from './schema/value.ts'

const labelPart = matching(255, /^[^=]*$/, () => 'must not hold a = sign.')

const labels = documentedAs(
  map(labelPart, {
    maxItems: 50,
    name(key, path) {
      if (key === '') throw new InvalidValue(path, `${path}: a label needs a key.`)
      return labelPart.check(key, path)
    },
  }),
  { propertyNames: { pattern: '^[^=]+$' } },
)

/** Distributes traffic over all online tunnels whose labels include these. */
export const TunnelGroupBackend = defineResource({
  name: 'tunnel group backend',
  description: 'Backends that send traffic to all tunnels with the same labels.',
  path: '/backends/tunnel_group',
  prefix: 'bkdtg',
  listKey: 'backends',
  event: 'tunnel_group_backend',
  fields: {
    ...common,
    labels: editable(labels, 'Agents join the group with the same labels, such as app=shop.', {
      app: 'shop',
    }),
    tunnels: live(references(['tn'], 'tunnel_ids'), 'The online tunnels with these labels.'),
  },
})

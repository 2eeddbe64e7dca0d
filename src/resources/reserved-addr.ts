import { assigned, common, defineResource, editable, fixed } from './schema/define.ts'
import { region } from './schema/formats.ts'
import { nullable, reference, text } from './schema/value.ts'

/** A public TCP address reserved for the account. */
export const ReservedAddr = defineResource({
  name: 'reserved address',
  description: 'Public TCP addresses that belong to the account.',
  path: '/reserved_addrs',
  prefix: 'ra',
  listKey: 'reserved_addrs',
  event: 'tcp_address',
  fields: {
    ...common,
    addr: assigned(text(300), 'The reserved host and port, assigned at creation.'),
    region: fixed(region, 'Accepted for compatibility; it has no effect.'),
    endpoint_configuration: editable(
      nullable(reference(['ec'], 'endpoint_configuration_id')),
      'The endpoint configuration of type tcp whose modules apply to the endpoints at this address.',
    ),
  },
  naturalName: ({ addr }) => addr,
  unique: ({ addr }) => [
    {
      within: 'platform',
      scope: 'address',
      name: addr,
      conflict: `This address is already reserved: ${addr}.`,
    },
  ],
})

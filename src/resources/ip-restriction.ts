import { common, defineResource, editable, fixed } from './schema/define.ts'
import { choice, flag, references, required } from './schema/value.ts'

/** Restricts the dashboard, API, agents or endpoints of an account to the addresses of its IP policies. */
export const IpRestriction = defineResource({
  name: 'IP restriction',
  description: 'The addresses from which the API, the dashboard, agents and endpoints can be used.',
  path: '/ip_restrictions',
  prefix: 'ipx',
  listKey: 'ip_restrictions',
  event: 'ip_restriction',
  roles: { change: 'admin' },
  fields: {
    ...common,
    enforced: editable(
      flag(false),
      'A restriction has no effect until it is enforced. Make sure that your own address is allowed: you can lock yourself out.',
    ),
    type: fixed(
      required(choice(['dashboard', 'api', 'agent', 'endpoints'], 'api')),
      'What is restricted: API calls, the dashboard, agent connections, or public endpoints.',
    ),
    ip_policies: editable(
      required(references(['ipp'], 'ip_policy_ids', { minItems: 1, maxItems: 100 })),
      'The IP policies, of which at least one must allow the address.',
    ),
  },
  naturalName: ({ type }) => type,
  unique: ({ type }) => [
    {
      within: 'account',
      scope: 'ip_restriction',
      name: type,
      conflict: `There is an IP restriction of type ${type} already.`,
    },
  ],
})

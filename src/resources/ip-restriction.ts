import { common, defineResource, editable, fixed } from './define.ts'
import { choice, flag, references, required } from './value.ts'

/** Restricts the dashboard, API, agents or endpoints of an account to the addresses of its IP policies. */
export const IpRestriction = defineResource({
  name: 'IP restriction',
  path: '/ip_restrictions',
  prefix: 'ipx',
  listKey: 'ip_restrictions',
  event: 'ip_restriction',
  roles: { change: 'admin' },
  fields: {
    ...common,
    enforced: editable(flag(false)),
    type: fixed(required(choice(['dashboard', 'api', 'agent', 'endpoints'], 'api'))),
    ip_policies: editable(required(references(['ipp'], 'ip_policy_ids', { minItems: 1, maxItems: 100 }))),
  },
  unique: ({ type }) => [
    {
      within: 'account',
      scope: 'ip_restriction',
      name: type,
      taken: `There is an IP restriction of type ${type} already.`,
    },
  ],
})

import { formatCidr, parseCidr } from '../base/values/cidr.ts'
import { common, defineResource, editable, fixed } from './schema/define.ts'
import { cidr } from './schema/formats.ts'
import { choice, reference, required } from './schema/value.ts'

/** One rule of an IP policy: a range of addresses to allow or deny. */
export const IpPolicyRule = defineResource({
  name: 'IP policy rule',
  description: 'The address ranges of IP policies.',
  path: '/ip_policy_rules',
  prefix: 'ipr',
  listKey: 'ip_policy_rules',
  event: 'ip_policy_rule',
  roles: { guard: 'restriction' },
  fields: {
    ...common,
    cidr: editable(
      required(cidr),
      'An IP address or a range in CIDR notation, such as 203.0.113.0/24 or 2001:db8::/32.',
      '203.0.113.0/24',
    ),
    action: fixed(
      required(choice(['allow', 'deny'], 'allow')),
      'Whether the range is allowed or denied. A deny rule takes precedence.',
    ),
    ip_policy: fixed(
      required(reference(['ipp'], 'ip_policy_id', 'cascade')),
      'The IP policy that the rule belongs to.',
    ),
  },
  unique: ({ cidr, ip_policy_id }) => [
    {
      within: 'account',
      scope: `ip_policy_rule:${ip_policy_id}`,
      name: formatCidr(parseCidr(cidr)),
      conflict: `The policy has a rule for ${cidr} already.`,
    },
  ],
})

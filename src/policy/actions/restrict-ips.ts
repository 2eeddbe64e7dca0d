import { STRING } from '../../cel/index.ts'
import { cidr, described, flag, listOf, object, text, withDefault } from '../config.ts'
import { defineAction } from './define.ts'
import { errorResult } from './results.ts'

const ranges = listOf(cidr, { maxItems: 1000 })

export const restrictIps = defineAction({
  type: 'restrict-ips',
  description:
    'Admits visitors by their address: someone has to be allowed and must not be denied. With a deny list alone all others are allowed.',
  example: { allow: ['198.51.100.0/24', '2001:db8::/32'] },
  phases: ['on_tcp_connect', 'on_http_request', 'on_http_response'],
  ends: 'sometimes',
  rejects: ({ enforce }) => enforce,
  config: object(
    {
      enforce: described(withDefault(flag, true), 'false: only sets the results'),
      allow: described(withDefault(ranges, []), 'ranges in CIDR notation'),
      deny: described(withDefault(ranges, []), 'ranges in CIDR notation, which win over those allowed'),
      ip_policies: described(
        withDefault(
          listOf(
            text({
              check: (id) =>
                /^ipp_\w+$/.test(id)
                  ? undefined
                  : ['unknown_ip_policy', `"${id}" is not the id of an IP policy`],
            }),
            {
              maxItems: 10,
            },
          ),
          [],
        ),
        'ids of IP policies of the account',
      ),
    },
    ({ allow, deny, ip_policies }, context) => {
      if (allow.length + deny.length + ip_policies.length === 0)
        context.report('empty_value', 'it needs "allow", "deny" or "ip_policies"')
    },
  ),
  results: { action: STRING, matched_cidr: STRING, error: errorResult },
  emptyResults: ['matched_cidr'],
})

import { reverseLabels } from '../base/values/domain.ts'
import { assigned, common, defineResource, editable, fixed } from './schema/define.ts'
import { certificatePolicy, certificateStatus, domain } from './schema/formats.ts'
import { list, required, text } from './schema/value.ts'

/** A domain of the account through which its agents connect. */
export const AgentIngress = defineResource({
  name: 'agent ingress',
  description: 'Custom host names at which agents connect.',
  path: '/agent_ingresses',
  prefix: 'agin',
  listKey: 'ingresses',
  event: 'agent_ingress',
  relativeUri: true,
  fields: {
    ...common,
    domain: fixed(
      required(domain),
      'The host name through which your agents connect, such as connect.example.com.',
      'connect.example.com',
    ),
    ns_targets: assigned(list(text(300)), 'The name servers to delegate the domain to.'),
    region_domains: assigned(list(text(300)), 'The host names below the domain to which agents can connect.'),
    certificate_management_policy: editable(certificatePolicy),
    certificate_management_status: assigned(certificateStatus),
  },
  naturalName: ({ domain }) => domain,
  unique: ({ domain }) => [
    {
      within: 'platform',
      scope: 'agent_ingress',
      name: reverseLabels(domain),
      conflict: `There is an agent ingress for ${domain} already.`,
    },
  ],
})

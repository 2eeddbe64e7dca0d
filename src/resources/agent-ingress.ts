import { reverseLabels } from '../base/domain.ts'
import { assigned, common, defineResource, editable, fixed } from './define.ts'
import { certificatePolicy, certificateStatus, domain } from './formats.ts'
import { list, nullable, required, text } from './value.ts'

/** A domain of the account through which its agents connect. */
export const AgentIngress = defineResource({
  name: 'agent ingress',
  path: '/agent_ingresses',
  prefix: 'agin',
  listKey: 'ingresses',
  event: 'agent_ingress',
  relativeUri: true,
  fields: {
    ...common,
    domain: fixed(required(domain)),
    ns_targets: assigned(list(text(300))),
    region_domains: assigned(list(text(300))),
    certificate_management_policy: editable(nullable(certificatePolicy)),
    certificate_management_status: assigned(nullable(certificateStatus)),
  },
  unique: ({ domain }) => [
    {
      within: 'platform',
      scope: 'agent_ingress',
      name: reverseLabels(domain),
      taken: `There is an agent ingress for ${domain} already.`,
    },
  ],
})

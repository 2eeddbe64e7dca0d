import { reverseLabels } from '../base/domain.ts'
import { assigned, common, defineResource, editable, fixed } from './define.ts'
import { certificatePolicy, certificateStatus, domain, region } from './formats.ts'
import { nullable, reference, required, text } from './value.ts'

/** A host name reserved for the account, with its certificate. */
export const ReservedDomain = defineResource({
  name: 'reserved domain',
  path: '/reserved_domains',
  prefix: 'rd',
  listKey: 'reserved_domains',
  event: 'domain',
  fields: {
    ...common,
    domain: fixed(required(domain)),
    region: fixed(nullable(region)),
    cname_target: assigned(nullable(text(300))),
    http_endpoint_configuration: editable(nullable(reference(['ec'], 'http_endpoint_configuration_id'))),
    https_endpoint_configuration: editable(nullable(reference(['ec'], 'https_endpoint_configuration_id'))),
    certificate: editable(nullable(reference(['cert'], 'certificate_id'))),
    certificate_management_policy: editable(nullable(certificatePolicy)),
    certificate_management_status: assigned(nullable(certificateStatus)),
    acme_challenge_cname_target: assigned(nullable(text(300))),
  },
  unique: ({ domain }) => [
    {
      within: 'platform',
      scope: 'domain',
      name: reverseLabels(domain),
      taken: `The domain ${domain} is reserved already.`,
    },
  ],
})

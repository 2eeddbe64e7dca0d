import { reverseLabels } from '../base/domain.ts'
import { assigned, common, defineResource, editable, fixed } from './define.ts'
import { certificatePolicy, certificateStatus, domain, region } from './formats.ts'
import { list, name, nullable, object, reference, required, text } from './value.ts'

/** `global`, a region or an address. Stored for clients of the original, and without effect (decision 172). */
const resolvesTo = list(object({ value: required(name(64)) }, { name: 'reserved domain resolves to' }), {
  maxItems: 100,
  rule: (items) =>
    new Set(items.map(({ value }) => value)).size === items.length
      ? undefined
      : 'names the same value twice.',
})

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
    resolves_to: editable(resolvesTo),
  },
  unique: ({ domain }) => [
    {
      within: 'platform',
      scope: 'domain',
      name: reverseLabels(domain),
      taken: `This domain is already reserved: ${domain}.`,
    },
  ],
})

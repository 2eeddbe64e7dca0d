import { reverseLabels } from '../base/values/domain.ts'
import { assigned, common, defineResource, editable, fixed } from './schema/define.ts'
import { certificatePolicy, certificateStatus, domain, region } from './schema/formats.ts'
import { omittedFields } from './schema/omitted-fields.ts'
import { described, list, name, nullable, object, reference, required, text } from './schema/value.ts'

/** `global`, a region or an address. Stored for clients of the original, and without effect (decision 172). */
const resolvesTo = list(
  object(
    { value: described(required(name(64)), 'A region or address.') },
    { name: 'reserved domain resolves to' },
  ),
  {
    maxItems: 100,
    rule: (items) =>
      new Set(items.map(({ value }) => value)).size === items.length
        ? undefined
        : 'names the same value twice.',
  },
)

const certificateReference = nullable(reference(['cert'], 'certificate_id'))

const certificate = described(
  {
    ...certificateReference,
    written: { ...certificateReference.written, description: 'An uploaded TLS certificate to serve.' },
  },
  'The TLS certificate that is served: uploaded, or issued automatically.',
)

/** A host name reserved for the account, with its certificate. */
export const ReservedDomain = defineResource({
  name: 'reserved domain',
  description: 'Host names that belong to the account, with their certificates.',
  path: '/reserved_domains',
  prefix: 'rd',
  listKey: 'reserved_domains',
  event: 'domain',
  fields: {
    ...common,
    domain: fixed(
      required(domain),
      'The host name, such as app.example.com or *.example.com.',
      'app.example.com',
    ),
    region: fixed(nullable(region), 'Accepted for compatibility; it has no effect.'),
    cname_target: assigned(
      nullable(text(300)),
      'The target of the DNS CNAME record to create; null for a name below the domain of the platform.',
    ),
    http_endpoint_configuration: editable(
      nullable(reference(['ec'], 'http_endpoint_configuration_id')),
      'The endpoint configuration of type http whose modules apply to the endpoints at this domain.',
    ),
    https_endpoint_configuration: editable(
      nullable(reference(['ec'], 'https_endpoint_configuration_id')),
      'The endpoint configuration of type https whose modules apply to the endpoints at this domain.',
    ),
    certificate: editable(certificate),
    certificate_management_policy: editable(certificatePolicy),
    certificate_management_status: assigned(certificateStatus),
    acme_challenge_cname_target: assigned(
      nullable(text(300)),
      'The target of the CNAME record for _acme-challenge of a wildcard domain; null for other domains.',
    ),
    // Null unless it was given: the Terraform provider reads an empty list as null, and then finds the two different.
    resolves_to: editable(nullable(resolvesTo), 'Accepted for compatibility; it has no effect.'),
    left_out: omittedFields,
  },
  naturalName: ({ domain }) => domain,
  // Decision 11: a custom domain gets an automatic certificate by default.
  chosen: ['certificate_management_policy'],
  unique: ({ domain }) => [
    {
      within: 'platform',
      scope: 'domain',
      name: reverseLabels(domain),
      conflict: `This domain is already reserved: ${domain}.`,
    },
  ],
})

import { assigned, common, defineResource, fixed } from './define.ts'
import { list, required, text } from './value.ts'

/** An uploaded authority that client certificates are verified against. */
export const CertificateAuthority = defineResource({
  name: 'certificate authority',
  description: 'Authorities whose client certificates edges accept.',
  path: '/certificate_authorities',
  prefix: 'ca',
  listKey: 'certificate_authorities',
  event: 'certificate_authority',
  fields: {
    ...common,
    ca_pem: fixed(
      required(text(65_536)),
      'The certificate of the authority in PEM format.',
      '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n',
    ),
    subject_common_name: assigned(text(4096), 'The common name of the subject.'),
    not_before: assigned(text(64), 'The start of the validity period.'),
    not_after: assigned(text(64), 'The end of the validity period.'),
    key_usages: assigned(list(text(64)), 'What the private key may be used for.'),
    extended_key_usages: assigned(list(text(255)), 'The extended key usages.'),
  },
})

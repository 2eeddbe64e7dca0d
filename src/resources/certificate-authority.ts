import { assigned, common, defineResource, fixed } from './define.ts'
import { list, required, text } from './value.ts'

/** An uploaded authority that client certificates are verified against. */
export const CertificateAuthority = defineResource({
  name: 'certificate authority',
  path: '/certificate_authorities',
  prefix: 'ca',
  listKey: 'certificate_authorities',
  event: 'certificate_authority',
  fields: {
    ...common,
    ca_pem: fixed(required(text(65_536))),
    subject_common_name: assigned(text(4096)),
    not_before: assigned(text(64)),
    not_after: assigned(text(64)),
    key_usages: assigned(list(text(64))),
    extended_key_usages: assigned(list(text(255))),
  },
})

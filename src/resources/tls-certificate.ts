import { assigned, common, defineResource, fixed, hidden, writeOnly } from './define.ts'
import { flag, list, nullable, object, required, secret, text } from './value.ts'

const name = text(4096)

/** A certificate the edge serves for a reserved domain: uploaded, or issued automatically. */
export const TlsCertificate = defineResource({
  name: 'TLS certificate',
  path: '/tls_certificates',
  prefix: 'cert',
  listKey: 'tls_certificates',
  event: 'tls_certificate',
  fields: {
    ...common,
    certificate_pem: fixed(required(text(262_144))),
    private_key_pem: writeOnly(required(secret(text(65_536), 'redacted'))),
    subject_common_name: assigned(name),
    subject_organization: assigned(name),
    subject_organizational_unit: assigned(name),
    subject_locality: assigned(name),
    subject_province: assigned(name),
    subject_country: assigned(name),
    issuer_common_name: assigned(name),
    subject_alternative_names: assigned(object({ dns_names: list(name), ips: list(name) })),
    issued_at: assigned(nullable(text(64))),
    not_before: assigned(text(64)),
    not_after: assigned(text(64)),
    key_usages: assigned(list(text(64))),
    extended_key_usages: assigned(list(text(255))),
    private_key_type: assigned(text(16)),
    serial_number: assigned(text(128)),
    managed: hidden(flag(false)),
  },
})

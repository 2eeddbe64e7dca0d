import { assigned, common, defineResource, fixed, hidden, writeOnly } from './schema/define.ts'
import { CERTIFICATE, PRIVATE_KEY } from './schema/formats.ts'
import {
  described,
  documentedAs,
  flag,
  list,
  nullable,
  object,
  required,
  secret,
  text,
} from './schema/value.ts'

const name = text(4096)

/** For app.example.com. The private key is public. */
const EXAMPLE = {
  certificate: `-----BEGIN CERTIFICATE-----
MIIBpDCCAUqgAwIBAgIUfWc003Bs+2eJ0eeMgkLd54hmyMkwCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPYXBwLmV4YW1wbGUuY29tMCAXDTI2MTExOTA0NDcxMloYDzIx
MjYxMDI2MDQ0NzEyWjAaMRgwFgYDVQQDDA9hcHAuZXhhbXBsZS5jb20wWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAAT3a6pdpWbd08U/VyVDtaff/X0cgQLtI2btTFD+
OW6dNJ1fGpDjKiK0YQ4wEKKnDn3RMt4mceziwIL71xhRLQW3o2wwajAdBgNVHQ4E
FgQUzd+WSh3Izy004NtAF3b3kIOHLvowHwYDVR0jBBgwFoAUzd+WSh3Izy004NtA
F3b3kIOHLvowGgYDVR0RBBMwEYIPYXBwLmV4YW1wbGUuY29tMAwGA1UdEwEB/wQC
MAAwCgYIKoZIzj0EAwIDSAAwRQIgNRf8mVInRBjDhVVL9OnrvWPPZpjSw4nt3/IS
3vQaaU4CIQD13CnxYSItdx6tHU3ObgjsQtlcGAUsuLml2cJJa/FTdw==
-----END CERTIFICATE-----
`,
  privateKey: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjsk4PteOyYMqPZ6j
KIYEeUUS00YJxdIDW8OrkKoHJjChRANCAAT3a6pdpWbd08U/VyVDtaff/X0cgQLt
I2btTFD+OW6dNJ1fGpDjKiK0YQ4wEKKnDn3RMt4mceziwIL71xhRLQW3
-----END PRIVATE KEY-----
`,
}

/** A certificate the edge serves for a reserved domain: uploaded, or issued automatically. */
export const TlsCertificate = defineResource({
  name: 'TLS certificate',
  description: 'Uploaded and automatically issued TLS certificates.',
  path: '/tls_certificates',
  prefix: 'cert',
  listKey: 'tls_certificates',
  event: 'tls_certificate',
  fields: {
    ...common,
    certificate_pem: fixed(
      required(documentedAs(text(262_144), { pattern: CERTIFICATE })),
      'The certificate in PEM format, followed by its intermediate certificates.',
      EXAMPLE.certificate,
    ),
    private_key_pem: writeOnly(
      required(secret(documentedAs(text(65_536), { pattern: PRIVATE_KEY }), 'redacted')),
      'The private key in PEM format. It is stored encrypted and never shown again.',
      EXAMPLE.privateKey,
    ),
    subject_common_name: assigned(name, 'The common name of the subject.'),
    subject_organization: assigned(name, 'The organization of the subject.'),
    subject_organizational_unit: assigned(name, 'The organizational unit of the subject.'),
    subject_locality: assigned(name, 'The locality of the subject.'),
    subject_province: assigned(name, 'The province or state of the subject.'),
    subject_country: assigned(name, 'The country of the subject.'),
    issuer_common_name: assigned(name, 'The common name of the issuer.'),
    subject_alternative_names: assigned(
      object({
        dns_names: described(list(name), 'The host names.'),
        ips: described(list(name), 'The IP addresses.'),
      }),
      'The names and addresses that the certificate is valid for.',
    ),
    issued_at: assigned(
      nullable(text(64)),
      'When it was issued automatically; null for an uploaded certificate.',
    ),
    not_before: assigned(text(64), 'The start of the validity period.'),
    not_after: assigned(text(64), 'The end of the validity period.'),
    key_usages: assigned(list(text(64)), 'What the private key may be used for.'),
    extended_key_usages: assigned(list(text(255)), 'The extended key usages.'),
    private_key_type: assigned(text(16), 'The type of the private key.'),
    serial_number: assigned(text(128), 'The serial number.'),
    managed: hidden(flag(false)),
  },
  isAutomatic: ({ managed }) => managed,
})

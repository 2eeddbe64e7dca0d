import { assigned, common, defineResource, fixed } from './schema/define.ts'
import { CERTIFICATE } from './schema/formats.ts'
import { documentedAs, list, required, text } from './schema/value.ts'

/** The private key of this authority was deleted. */
const EXAMPLE = `-----BEGIN CERTIFICATE-----
MIIBnDCCAUKgAwIBAgIUHar2S9fBhf0Fn7TbfWJGQ+kulZYwCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRRXhhbXBsZSBhdXRob3JpdHkwIBcNMjYxMTE5MDQ0NzEyWhgP
MjEyNjEwMjYwNDQ3MTJaMBwxGjAYBgNVBAMMEUV4YW1wbGUgYXV0aG9yaXR5MFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWhePSEizigto8OCzamWk0XuzabILr7/c
hNYA6M8x5pbY2RVeVQJZelIMTBGzk+jZFGa4eYgAAXKdNHujJkK1uaNgMF4wHQYD
VR0OBBYEFPxvCtBrA0BHhv8bO05c3cECOitsMB8GA1UdIwQYMBaAFPxvCtBrA0BH
hv8bO05c3cECOitsMA8GA1UdEwEB/wQFMAMBAf8wCwYDVR0PBAQDAgIEMAoGCCqG
SM49BAMCA0gAMEUCIQClDgXLWB3Y4FihjJg6td/aazAz5tWlrjnuWKJ3z1q/0wIg
VkLj28H2xr13ZpnORB+nhPRVuP+gssiqk5u4wnQ1ZSw=
-----END CERTIFICATE-----
`

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
      required(documentedAs(text(65_536), { pattern: CERTIFICATE })),
      'The certificate of the authority in PEM format.',
      EXAMPLE,
    ),
    subject_common_name: assigned(text(4096), 'The common name of the subject.'),
    not_before: assigned(text(64), 'The start of the validity period.'),
    not_after: assigned(text(64), 'The end of the validity period.'),
    key_usages: assigned(list(text(64)), 'What the private key may be used for.'),
    extended_key_usages: assigned(list(text(255)), 'The extended key usages.'),
  },
})

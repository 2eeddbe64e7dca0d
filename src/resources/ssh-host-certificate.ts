import { assigned, common, defineResource, fixed } from './define.ts'
import { keyType, optionalRfc3339, principals, publicKey } from './ssh-formats.ts'
import { idOf, required, text } from './value.ts'

/** A signed certificate that authenticates a host to SSH clients. */
export const SshHostCertificate = defineResource({
  name: 'SSH host certificate',
  description: 'SSH certificates that identify servers.',
  path: '/ssh_host_certificates',
  prefix: 'shcrt',
  listKey: 'ssh_host_certificates',
  event: 'ssh_host_certificate',
  fields: {
    ...common,
    public_key: fixed(publicKey),
    key_type: assigned(keyType),
    ssh_certificate_authority_id: fixed(
      required(idOf(['sshca'])),
      'The SSH authority that signs the certificate.',
    ),
    principals: fixed(
      principals,
      'The host names that the certificate is valid for. Without names, it is valid for all of them.',
      ['host.example.com'],
    ),
    valid_after: fixed(
      optionalRfc3339,
      'The start of the validity period, such as 2027-01-31T12:00:00Z. Default: now.',
    ),
    valid_until: fixed(
      optionalRfc3339,
      'The end of the validity period, such as 2027-01-31T12:00:00Z. Default: one year after the start.',
    ),
    certificate: assigned(text(65_536), 'The signed certificate in the format of an authorized_keys file.'),
  },
})

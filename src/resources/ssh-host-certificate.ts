import { assigned, common, defineResource, fixed } from './schema/define.ts'
import { optionalRfc3339, principals } from './schema/ssh-formats.ts'
import { certifiedKey, sshCertificate, validAfter } from './ssh-certificate-fields.ts'

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
    ...certifiedKey,
    principals: fixed(
      principals,
      'The host names that the certificate is valid for. Without names, it is valid for all of them.',
      ['host.example.com'],
    ),
    valid_after: fixed(validAfter),
    valid_until: fixed(
      optionalRfc3339,
      'The end of the validity period, such as 2027-01-31T12:00:00Z. Default: one year after the start.',
    ),
    certificate: assigned(sshCertificate),
  },
})

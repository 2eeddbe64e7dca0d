import { assigned, common, defineResource, fixed } from './schema/define.ts'
import { optionalRfc3339, principals } from './schema/ssh-formats.ts'
import { map, nullable, text } from './schema/value.ts'
import { certifiedKey, sshCertificate, validAfter } from './ssh-certificate-fields.ts'

/** The extensions of a certificate by default. */
export const DEFAULT_EXTENSIONS = { 'permit-pty': '', 'permit-user-rc': '' }

/** A signed certificate that authenticates a user over SSH. */
export const SshUserCertificate = defineResource({
  name: 'SSH user certificate',
  description: 'SSH certificates with which people sign in to servers.',
  path: '/ssh_user_certificates',
  prefix: 'sucrt',
  listKey: 'ssh_user_certificates',
  event: 'ssh_user_certificate',
  fields: {
    ...common,
    ...certifiedKey,
    principals: fixed(
      principals,
      'The user names that the holder may sign in as. Without names, the certificate is valid for all of them.',
      ['ada'],
    ),
    critical_options: fixed(
      map(text(4096), { maxItems: 16 }),
      'Critical options of the certificate: force-command and source-address.',
    ),
    extensions: fixed(
      nullable(map(text(4096), { maxItems: 64 })),
      'Extensions of the certificate. Default: permit-pty and permit-user-rc. Most have no value.',
    ),
    valid_after: fixed(validAfter),
    valid_until: fixed(
      optionalRfc3339,
      'The end of the validity period, such as 2027-01-31T12:00:00Z. Default: 24 hours after the start.',
    ),
    certificate: assigned(sshCertificate),
  },
})

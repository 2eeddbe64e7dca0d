import { assigned, common, defineResource, fixed } from './define.ts'
import { keyType, optionalRfc3339, principals, publicKey } from './ssh-formats.ts'
import { idOf, map, nullable, required, text } from './value.ts'

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
    public_key: fixed(publicKey),
    key_type: assigned(keyType),
    ssh_certificate_authority_id: fixed(
      required(idOf(['sshca'])),
      'The SSH authority that signs the certificate.',
    ),
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
    valid_after: fixed(
      optionalRfc3339,
      'The start of the validity period, such as 2027-01-31T12:00:00Z. Default: now.',
    ),
    valid_until: fixed(
      optionalRfc3339,
      'The end of the validity period, such as 2027-01-31T12:00:00Z. Default: 24 hours after the start.',
    ),
    certificate: assigned(text(65_536), 'The signed certificate in the format of an authorized_keys file.'),
  },
})

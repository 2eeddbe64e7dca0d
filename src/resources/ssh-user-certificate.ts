import { assigned, common, defineResource, fixed } from './define.ts'
import { optionalRfc3339, principals } from './ssh-formats.ts'
import { idOf, map, nullable, required, text } from './value.ts'

/** The extensions of a certificate by default. */
export const DEFAULT_EXTENSIONS = { 'permit-pty': '', 'permit-user-rc': '' }

/** A signed certificate that authenticates a user over SSH. */
export const SshUserCertificate = defineResource({
  name: 'SSH user certificate',
  path: '/ssh_user_certificates',
  prefix: 'sucrt',
  listKey: 'ssh_user_certificates',
  event: 'ssh_user_certificate',
  fields: {
    ...common,
    public_key: fixed(required(text(16_384))),
    key_type: assigned(text(16)),
    ssh_certificate_authority_id: fixed(required(idOf(['sshca']))),
    principals: fixed(principals),
    critical_options: fixed(map(text(4096), { maxItems: 16 })),
    extensions: fixed(nullable(map(text(4096), { maxItems: 64 }))),
    valid_after: fixed(optionalRfc3339),
    valid_until: fixed(optionalRfc3339),
    certificate: assigned(text(65_536)),
  },
})

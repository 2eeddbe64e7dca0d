import { assigned, common, defineResource, fixed } from './define.ts'
import { optionalRfc3339, principals } from './ssh-formats.ts'
import { idOf, required, text } from './value.ts'

/** A signed certificate that authenticates a host to SSH clients. */
export const SshHostCertificate = defineResource({
  name: 'SSH host certificate',
  path: '/ssh_host_certificates',
  prefix: 'shcrt',
  listKey: 'ssh_host_certificates',
  event: 'ssh_host_certificate',
  fields: {
    ...common,
    public_key: fixed(required(text(16_384))),
    key_type: assigned(text(16)),
    ssh_certificate_authority_id: fixed(required(idOf(['sshca']))),
    principals: fixed(principals),
    valid_after: fixed(optionalRfc3339),
    valid_until: fixed(optionalRfc3339),
    certificate: assigned(text(65_536)),
  },
})

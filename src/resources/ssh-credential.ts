import { common, defineResource, editable, fixed, hidden } from './define.ts'
import { acl } from './formats.ts'
import { owner } from './owner.ts'
import { required, text } from './value.ts'

/** A public key whose holder may start tunnels through the SSH gateway. */
export const SshCredential = defineResource({
  name: 'SSH credential',
  path: '/ssh_credentials',
  prefix: 'sshcr',
  listKey: 'ssh_credentials',
  event: 'ssh_public_key',
  roles: { guard: 'owner' },
  fields: {
    ...common,
    public_key: fixed(required(text(16_384))),
    acl: editable(acl),
    owner_id: fixed(owner),
    fingerprint: hidden(text(128)),
  },
  unique: ({ fingerprint }) => [
    {
      // Decision 136: another account may hold the same key.
      within: 'each account',
      scope: 'ssh_key',
      name: fingerprint,
      taken: 'This account has an SSH credential with this public key already.',
    },
  ],
})

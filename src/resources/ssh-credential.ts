import { owner } from './credential-fields.ts'
import { common, defineResource, editable, fixed, hidden } from './define.ts'
import { acl } from './formats.ts'
import { publicKey } from './ssh-formats.ts'
import { text } from './value.ts'

/** A public key whose holder may start tunnels through the SSH gateway. */
export const SshCredential = defineResource({
  name: 'SSH credential',
  description: 'Public keys with which SSH clients start tunnels without an agent.',
  path: '/ssh_credentials',
  prefix: 'sshcr',
  listKey: 'ssh_credentials',
  event: 'ssh_public_key',
  roles: { guard: 'owner' },
  fields: {
    ...common,
    public_key: fixed(publicKey),
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

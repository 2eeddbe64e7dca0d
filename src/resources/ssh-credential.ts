import { publicKeyFingerprint } from '../base/values/ssh-fingerprint.ts'
import { owner } from './credential-fields.ts'
import { common, defineResource, editable, fixed } from './schema/define.ts'
import { acl } from './schema/formats.ts'
import { publicKey } from './schema/ssh-formats.ts'

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
  },
  unique: ({ public_key }) => [
    {
      // Decision 136: another account may hold the same key.
      within: 'each account',
      scope: 'ssh_key',
      name: publicKeyFingerprint(public_key),
      conflict: 'This account has an SSH credential with this public key already.',
    },
  ],
})

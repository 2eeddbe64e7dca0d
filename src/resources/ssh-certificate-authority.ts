import { assigned, common, defineResource, hidden, writeOnly } from './define.ts'
import { keySize } from './ssh-formats.ts'
import { choice, nullable, secret, text } from './value.ts'

/** A key pair made by the service that signs SSH certificates; the private key never leaves it. */
export const SshCertificateAuthority = defineResource({
  name: 'SSH certificate authority',
  path: '/ssh_certificate_authorities',
  prefix: 'sshca',
  listKey: 'ssh_certificate_authorities',
  event: 'ssh_certificate_authority',
  fields: {
    ...common,
    public_key: assigned(text(16_384)),
    key_type: assigned(text(16)),
    private_key_type: writeOnly(choice(['rsa', 'ecdsa', 'ed25519'], 'ed25519')),
    elliptic_curve: writeOnly(nullable(choice(['p256', 'p384', 'p521'], 'p256'))),
    key_size: writeOnly(nullable(keySize)),
    private_key: hidden(secret(text(16_384), 'redacted')),
  },
  rule({ private_key_type, elliptic_curve, key_size }) {
    if (elliptic_curve !== null && private_key_type !== 'ecdsa')
      return { field: 'elliptic_curve', message: 'elliptic_curve only goes with private_key_type ecdsa.' }
    if (key_size !== null && private_key_type !== 'rsa')
      return { field: 'key_size', message: 'key_size only goes with private_key_type rsa.' }
    return undefined
  },
})

import { assigned, fixed } from './schema/define.ts'
import { keyType, optionalRfc3339, publicKey } from './schema/ssh-formats.ts'
import { described, idOf, required, text } from './schema/value.ts'

/** The key that an SSH certificate is for, and the authority that signs it. */
export const certifiedKey = {
  public_key: fixed(publicKey),
  key_type: assigned(keyType),
  ssh_certificate_authority_id: fixed(
    required(idOf(['sshca'])),
    'The SSH authority that signs the certificate.',
  ),
}

export const validAfter = described(
  optionalRfc3339,
  'The start of the validity period, such as 2027-01-31T12:00:00Z. Default: now.',
)

export const sshCertificate = described(
  text(65_536),
  'The signed certificate in the format of an authorized_keys file.',
)

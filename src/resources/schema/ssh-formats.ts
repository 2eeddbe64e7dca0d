import { Type } from 'typebox'
import { rfc3339 } from './formats.ts'
import { described, InvalidValue, list, nullable, plain, required, text } from './value.ts'

export const publicKey = described(
  required(text(16_384)),
  'The public key on one line, as in an authorized_keys file.',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ada@example.com',
)

export const keyType = described(text(16), 'The type of the key: rsa, ecdsa or ed25519.')

/** Allowed RSA key sizes of authorities. */
export const keySize = plain<number>(Type.Enum([2048, 4096]), 2048)

export const principals = list(
  text(255, (value) =>
    value === '' || /[,\0\r\n]/.test(value) ? 'must be a name without commas or line ends.' : undefined,
  ),
  { maxItems: 256 },
)

const UNIX_EPOCH = '1970-01-01T00:00:00Z'

/** A validity time of a certificate, which counts seconds from 1970. Null at creation lets the service choose. */
export const optionalRfc3339 = nullable({
  ...rfc3339,
  check(value: string, path: string) {
    const time = rfc3339.check(value, path)
    if (time < UNIX_EPOCH)
      throw new InvalidValue(
        path,
        `${path}: the time of a certificate must lie between the years 1970 and 9999.`,
      )
    return time
  },
})

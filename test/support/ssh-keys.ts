import { generateKeyPairSync } from 'node:crypto'

function encodeWire(...parts: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const bytes = Buffer.from(part as string)
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    }),
  )
}

const CURVES = { p256: 'nistp256', p384: 'nistp384', p521: 'nistp521' } as const

/** Generates a public key, formatted as in a .pub file. */
export function generateSshPublicKey(
  kind: 'ed25519' | 'rsa' | 'rsa1024' | keyof typeof CURVES = 'ed25519',
  comment = 'somebody@example',
): string {
  let blob: Buffer
  if (kind === 'ed25519') {
    const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    blob = encodeWire('ssh-ed25519', Buffer.from(x, 'base64url'))
  } else if (kind === 'rsa' || kind === 'rsa1024') {
    const bits = kind === 'rsa' ? 2048 : 1024
    const { e = '', n = '' } = generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({
      format: 'jwk',
    })
    // A leading zero keeps the modulus positive.
    const modulus = Buffer.concat([Buffer.alloc(1), Buffer.from(n, 'base64url')])
    blob = encodeWire('ssh-rsa', Buffer.from(e, 'base64url'), modulus)
  } else {
    const name = CURVES[kind]
    const { x = '', y = '' } = generateKeyPairSync('ec', {
      namedCurve: `P-${name.slice(5)}`,
    }).publicKey.export({ format: 'jwk' })
    const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
    blob = encodeWire(`ecdsa-sha2-${name}`, name, point)
  }
  const type = blob.subarray(4, 4 + blob.readUInt32BE(0)).toString()
  return `${type} ${blob.toString('base64')} ${comment}`
}

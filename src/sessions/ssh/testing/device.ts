import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { encodeStrings } from '../transport/wire.ts'

/** A software FIDO device with one SSH key. */
export interface Device {
  readonly algorithm: string
  /** In wire format. */
  readonly publicKey: Buffer
  /** The signature in wire format, prefixed with the algorithm name. */
  sign(data: Buffer, touched?: boolean): Buffer
}

const APPLICATION = 'ssh:'

export function createDevice(kind: 'ed25519' | 'ecdsa'): Device {
  const pair =
    kind === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = kind === 'ed25519' ? 'sk-ssh-ed25519@openssh.com' : 'sk-ecdsa-sha2-nistp256@openssh.com'
  let counter = 0
  return {
    algorithm,
    publicKey: encodeStrings(algorithm, ...publicParts(pair.publicKey), APPLICATION),
    sign(data, touched = true) {
      const trailer = Buffer.alloc(5, touched ? 1 : 0)
      trailer.writeUInt32BE(++counter, 1)
      const message = Buffer.concat([digest(APPLICATION), trailer, digest(data)])
      const raw =
        kind === 'ed25519' ? sign(null, message, pair.privateKey) : numbers(message, pair.privateKey)
      return Buffer.concat([encodeStrings(algorithm, raw), trailer])
    },
  }
}

function publicParts(key: KeyObject): (string | Buffer)[] {
  const { x, y } = key.export({ format: 'jwk' })
  const bytes = (value: string) => Buffer.from(value, 'base64url')
  if (y === undefined) return [bytes(x!)]
  return ['nistp256', Buffer.concat([Buffer.of(4), bytes(x!), bytes(y)])]
}

/** The two integers of an ECDSA signature, minimally encoded and non-negative. */
function numbers(message: Buffer, key: KeyObject): Buffer {
  const raw = sign('sha256', message, { key, dsaEncoding: 'ieee-p1363' })
  const shortest = (bytes: Buffer) => {
    const start = bytes.findIndex((byte) => byte !== 0)
    const trimmed = bytes.subarray(start)
    return trimmed[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), trimmed]) : trimmed
  }
  return encodeStrings(shortest(raw.subarray(0, 32)), shortest(raw.subarray(32)))
}

function digest(bytes: string | Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}

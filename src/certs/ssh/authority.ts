import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { Secret } from '../../base/values/secret.ts'
import { problem } from '../problem.ts'
import { generateRsaPair } from '../x509/keys.ts'
import type { PrivateKeyType } from '../x509/x509.ts'
import { toSshBlob } from './public-key.ts'
import { WireReader, wireInteger, wireString } from './wire.ts'

const generate = promisify(generateKeyPair)
const signAsync = promisify(sign)

/** The key type of a new SSH certificate authority; ed25519 by default. */
export interface SshAuthorityRequest {
  private_key_type?: string | undefined
  elliptic_curve?: string | undefined
  key_size?: number | undefined
}

/** The keys of a new SSH certificate authority. */
export interface SshAuthorityKeys {
  keyType: PrivateKeyType
  /** `algorithm base64`, without a comment, as in TrustedUserCAKeys. */
  publicKey: string
  /** PKCS#8; stored sealed and never shown. */
  privateKeyPem: Secret
}

const NODE_CURVES: Record<string, string> = { p256: 'P-256', p384: 'P-384', p521: 'P-521' }

/** Generates the key pair of an SSH certificate authority. Asynchronous: 4096 bits take a second. */
export async function createSshAuthority(request: SshAuthorityRequest = {}): Promise<SshAuthorityKeys> {
  const { private_key_type: type = 'ed25519', elliptic_curve: curve, key_size: size } = request
  if (type !== 'rsa' && type !== 'ecdsa' && type !== 'ed25519')
    throw problem('private_key_type', 'authority_key_type', type)
  if (type !== 'ecdsa' && curve !== undefined) throw problem('elliptic_curve', 'authority_curve_misplaced')
  if (type !== 'rsa' && size !== undefined) throw problem('key_size', 'authority_key_size_misplaced')

  const { publicKey, privateKey } = await generatePair(type, curve ?? 'p256', size ?? 2048)
  return {
    keyType: type,
    publicKey: formatSshPublicKey(toSshBlob(publicKey)),
    privateKeyPem: new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string),
  }
}

async function generatePair(type: PrivateKeyType, curve: string, size: number) {
  switch (type) {
    case 'rsa':
      if (size !== 2048 && size !== 4096) throw problem('key_size', 'authority_key_size', size)
      return generateRsaPair(size)
    case 'ecdsa': {
      const namedCurve = Object.hasOwn(NODE_CURVES, curve) ? NODE_CURVES[curve] : undefined
      if (namedCurve === undefined) throw problem('elliptic_curve', 'authority_curve', curve)
      return generate('ec', { namedCurve })
    }
    case 'ed25519':
      return generate('ed25519')
  }
}

/** Formats a key's wire form as text. */
export function formatSshPublicKey(blob: Buffer): string {
  return `${new WireReader(blob).text()} ${blob.toString('base64')}`
}

/** A signing key: its public half in wire form, and signatures in SSH's encoding. */
export interface SshSigner {
  blob: Buffer
  sign(message: Buffer): Promise<Buffer>
}

// RFC 5656 section 6.2.1: the hash follows the size of the curve.
const CURVE_HASHES: Record<string, string> = {
  prime256v1: 'sha256',
  secp384r1: 'sha384',
  secp521r1: 'sha512',
}

/** Opens an authority's stored key. Signing runs in libuv's thread pool, so at most four at a time. */
export function openSshSigner(privateKeyPem: Secret): SshSigner {
  const key = createPrivateKey(privateKeyPem.reveal())
  const blob = toSshBlob(createPublicKey(key))
  return { blob, sign: (message) => signWith(key, blob, message) }
}

async function signWith(key: KeyObject, blob: Buffer, message: Buffer): Promise<Buffer> {
  if (key.asymmetricKeyType === 'rsa') {
    // RFC 8332: the plain "ssh-rsa" signature uses SHA-1, which current servers reject.
    return Buffer.concat([wireString('rsa-sha2-512'), wireString(await signAsync('sha512', message, key))])
  }
  const algorithm = new WireReader(blob).text()
  if (key.asymmetricKeyType === 'ed25519')
    return Buffer.concat([wireString(algorithm), wireString(await signAsync(null, message, key))])
  const hash = CURVE_HASHES[key.asymmetricKeyDetails?.namedCurve ?? '']
  const raw = await signAsync(hash, message, { key, dsaEncoding: 'ieee-p1363' })
  const half = raw.length / 2
  const pair = Buffer.concat([wireInteger(raw.subarray(0, half)), wireInteger(raw.subarray(half))])
  return Buffer.concat([wireString(algorithm), wireString(pair)])
}

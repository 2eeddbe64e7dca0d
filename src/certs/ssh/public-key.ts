import { createPublicKey, type KeyObject, type webcrypto } from 'node:crypto'
import { sshFingerprint } from '../../base/values/ssh-fingerprint.ts'
import { CertificateProblem, problem } from '../problem.ts'
import type { PrivateKeyType } from '../x509/x509.ts'
import { WireReader, wireInteger, wireString } from './wire.ts'

/** A valid OpenSSH public key. */
export interface SshPublicKey {
  /** The algorithm name at the start of the line, such as `ssh-ed25519`. */
  algorithm: string
  /** The type in the API. Keys on a security token count as their underlying type. */
  keyType: PrivateKeyType
  bits: number
  /** The wire form, which servers compare. */
  blob: Buffer
  comment: string
  /** `algorithm base64`, without a comment. */
  text: string
  /** `SHA256:...`, as ssh-keygen prints it. */
  fingerprint: string
}

const MAX_LINE_BYTES = 16 * 1024
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The NIST curves by their SSH name, with their JWK name and coordinate size. */
const SSH_CURVES: Record<string, { jwk: string; bytes: number; bits: number }> = {
  nistp256: { jwk: 'P-256', bytes: 32, bits: 256 },
  nistp384: { jwk: 'P-384', bytes: 48, bits: 384 },
  nistp521: { jwk: 'P-521', bytes: 66, bits: 521 },
}

interface KeyFormat {
  keyType: PrivateKeyType
  /** Reads the fields after the algorithm name and returns the size in bits. */
  read(fields: WireReader): number
}

const ecdsa = (curve: string): KeyFormat => ({ keyType: 'ecdsa', read: (fields) => readPoint(fields, curve) })

const KEY_FORMATS: Record<string, KeyFormat> = {
  'ssh-rsa': { keyType: 'rsa', read: readRsa },
  'ecdsa-sha2-nistp256': ecdsa('nistp256'),
  'ecdsa-sha2-nistp384': ecdsa('nistp384'),
  'ecdsa-sha2-nistp521': ecdsa('nistp521'),
  'ssh-ed25519': { keyType: 'ed25519', read: readEdwards },
  'sk-ecdsa-sha2-nistp256@openssh.com': {
    keyType: 'ecdsa',
    read: (fields) => skipApplication(fields, readPoint(fields, 'nistp256')),
  },
  'sk-ssh-ed25519@openssh.com': {
    keyType: 'ed25519',
    read: (fields) => skipApplication(fields, readEdwards(fields)),
  },
}

/** Parses one line of OpenSSH's public key format, as in a `.pub` file. */
export function parseSshPublicKey(input: string): SshPublicKey {
  const line = input.trim()
  if (line === '') throw problem('public_key', 'empty', 'public key')
  if (Buffer.byteLength(line) > MAX_LINE_BYTES) throw problem('public_key', 'too_big', 'public key', '16 KiB')
  if (/PRIVATE KEY-----/.test(line)) throw problem('public_key', 'private_key_inside', 'public key')
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(line)) throw problem('public_key', 'not_ssh_key')

  const [algorithm = '', base64 = '', ...comment] = line.split(/[ \t]+/)
  const format = findFormat(algorithm, line)
  const blob = Buffer.from(base64, 'base64')
  if (!BASE64.test(base64) || blob.toString('base64') !== base64) throw problem('public_key', 'not_ssh_key')
  return {
    algorithm,
    keyType: format.keyType,
    bits: readBlob(blob, algorithm, format),
    blob,
    comment: comment.join(' '),
    text: `${algorithm} ${base64}`,
    fingerprint: sshFingerprint(blob),
  }
}

function findFormat(algorithm: string, line: string): KeyFormat {
  const format = Object.hasOwn(KEY_FORMATS, algorithm) ? KEY_FORMATS[algorithm] : undefined
  if (format) return format
  if (/-cert-v\d\d@openssh\.com$/.test(algorithm)) throw problem('public_key', 'ssh_certificate_given')
  const hasOptions = [...Object.keys(KEY_FORMATS), 'ssh-dss'].some((name) => line.includes(` ${name} `))
  if (hasOptions) throw problem('public_key', 'ssh_options')
  if (/^[a-z0-9][a-z0-9.@-]{2,63}$/.test(algorithm) && / AAAA/.test(line))
    throw problem('public_key', 'ssh_key_type', algorithm === 'ssh-dss' ? 'ssh-dss (DSA)' : algorithm)
  throw problem('public_key', 'not_ssh_key')
}

function readBlob(blob: Buffer, algorithm: string, format: KeyFormat): number {
  try {
    const fields = new WireReader(blob)
    // The name outside is only informative; servers use the one inside.
    if (fields.text() !== algorithm) throw problem('public_key', 'not_ssh_key')
    const bits = format.read(fields)
    fields.end()
    return bits
  } catch (error) {
    if (error instanceof CertificateProblem) throw error
    throw problem('public_key', 'unparsable', 'public key')
  }
}

function readRsa(fields: WireReader): number {
  const e = fields.positive()
  const n = fields.positive()
  const bits = n.length * 8 - Math.clz32(n[0]!) + 24
  if (bits < 2048) throw problem('public_key', 'ssh_key_weak', bits)
  if (bits > 16384) throw problem('public_key', 'ssh_key_large', bits)
  const exponent = e.length <= 8 ? BigInt(`0x${e.toString('hex')}`) : 0n
  if (exponent < 3n || exponent % 2n === 0n || n.at(-1)! % 2 === 0)
    throw problem('public_key', 'unparsable', 'public key')
  requireImportable({ kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') })
  return bits
}

function readPoint(fields: WireReader, name: string): number {
  const curve = SSH_CURVES[name]!
  const curveName = fields.text()
  const point = fields.string()
  // RFC 5656 section 3.1 names the curve a second time; the point is in the uncompressed form.
  if (curveName !== name || point[0] !== 4 || point.length !== 1 + 2 * curve.bytes)
    throw problem('public_key', 'unparsable', 'public key')
  const x = point.subarray(1, 1 + curve.bytes).toString('base64url')
  const y = point.subarray(1 + curve.bytes).toString('base64url')
  requireImportable({ kty: 'EC', crv: curve.jwk, x, y })
  return curve.bits
}

function readEdwards(fields: WireReader): number {
  const point = fields.string()
  if (point.length !== 32) throw problem('public_key', 'unparsable', 'public key')
  requireImportable({ kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') })
  return 256
}

function skipApplication(fields: WireReader, bits: number): number {
  fields.string()
  return bits
}

/** Validates the numbers with the crypto library, which rejects, for example, a point that is not on its curve. */
function requireImportable(key: webcrypto.JsonWebKey): void {
  createPublicKey({ key, format: 'jwk' })
}

/** Converts a public key of the crypto library to its wire form. */
export function toSshBlob(publicKey: KeyObject): Buffer {
  const jwk = publicKey.export({ format: 'jwk' })
  const bytes = (value: string | undefined) => Buffer.from(value ?? '', 'base64url')
  if (jwk.kty === 'RSA')
    return Buffer.concat([wireString('ssh-rsa'), wireInteger(bytes(jwk.e)), wireInteger(bytes(jwk.n))])
  if (jwk.kty === 'OKP') return Buffer.concat([wireString('ssh-ed25519'), wireString(bytes(jwk.x))])
  const curve = Object.entries(SSH_CURVES).find(([, { jwk: name }]) => name === jwk.crv)?.[0] ?? ''
  const point = Buffer.concat([Buffer.of(4), bytes(jwk.x), bytes(jwk.y)])
  return Buffer.concat([wireString(`ecdsa-sha2-${curve}`), wireString(curve), wireString(point)])
}

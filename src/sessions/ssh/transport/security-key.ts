import { createHash, createPublicKey, type KeyObject, verify, type webcrypto } from 'node:crypto'

const ED25519 = 'sk-ssh-ed25519@openssh.com'
const ECDSA = 'sk-ecdsa-sha2-nistp256@openssh.com'

/** Whether the algorithm is that of a key on a FIDO device. */
export function isSecurityKey(algorithm: string): boolean {
  return algorithm === ED25519 || algorithm === ECDSA
}

/** Flag: the user touched the device (decision 75). */
const USER_PRESENT = 0x01

/** The device's flags and counter, after the signature. */
const TRAILER_BYTES = 5

const COORDINATE_BYTES = 32

/**
 * Whether the device signed the data with the key, with user presence. A device does not sign the data itself but the
 * digests of the application and of the data, with flags and counter between them (OpenSSH's PROTOCOL.u2f).
 */
export function verifyDeviceSignature(
  key: Buffer,
  algorithm: string,
  data: Buffer,
  signature: Buffer,
): boolean {
  const parsed = parseKey(key, algorithm)
  const trailer = signature.subarray(-TRAILER_BYTES)
  const raw = toRawSignature(signature.subarray(0, -TRAILER_BYTES), algorithm)
  if (parsed === undefined || raw === undefined || trailer.length < TRAILER_BYTES) return false
  if ((trailer[0]! & USER_PRESENT) === 0) return false
  const signed = Buffer.concat([digest(parsed.application), trailer, digest(data)])
  if (algorithm === ED25519) return verify(null, signed, parsed.publicKey, raw)
  return verify('sha256', signed, { key: parsed.publicKey, dsaEncoding: 'ieee-p1363' }, raw)
}

function parseKey(key: Buffer, algorithm: string): { publicKey: KeyObject; application: Buffer } | undefined {
  const strings = parseStrings(key)
  if (strings?.[0]?.toString('latin1') !== algorithm) return undefined
  const application = strings.at(-1)!
  const publicKey = importKey(algorithm === ED25519 ? toEd25519Jwk(strings) : toEcdsaJwk(strings))
  return publicKey && { publicKey, application }
}

function toEd25519Jwk([, point, application]: readonly Buffer[]): webcrypto.JsonWebKey | undefined {
  if (point === undefined || application === undefined) return undefined
  return { kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') }
}

function toEcdsaJwk([, curve, point, application]: readonly Buffer[]): webcrypto.JsonWebKey | undefined {
  if (curve?.toString('latin1') !== 'nistp256' || point === undefined || application === undefined)
    return undefined
  if (point.length !== 1 + 2 * COORDINATE_BYTES || point[0] !== 4) return undefined
  const [x, y] = [point.subarray(1, 1 + COORDINATE_BYTES), point.subarray(1 + COORDINATE_BYTES)]
  return { kty: 'EC', crv: 'P-256', x: x.toString('base64url'), y: y.toString('base64url') }
}

function importKey(jwk: webcrypto.JsonWebKey | undefined): KeyObject | undefined {
  if (jwk === undefined) return undefined
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    // Not a point on the curve.
    return undefined
  }
}

/** The raw signature: Ed25519 unchanged, ECDSA as two full-length integers. */
function toRawSignature(signature: Buffer, algorithm: string): Buffer | undefined {
  if (algorithm === ED25519) return signature
  const numbers = parseStrings(signature)?.map((number) => (number[0] === 0 ? number.subarray(1) : number))
  if (numbers?.length !== 2 || numbers.some(({ length }) => length > COORDINATE_BYTES)) return undefined
  return Buffer.concat(numbers.flatMap((number) => [Buffer.alloc(COORDINATE_BYTES - number.length), number]))
}

/** Parses length-prefixed strings (RFC 4251 section 5); undefined unless they fill the buffer exactly. */
function parseStrings(bytes: Buffer): Buffer[] | undefined {
  const strings: Buffer[] = []
  for (let offset = 0; offset < bytes.length; ) {
    const end =
      offset + 4 <= bytes.length ? offset + 4 + bytes.readUInt32BE(offset) : Number.POSITIVE_INFINITY
    if (end > bytes.length) return undefined
    strings.push(bytes.subarray(offset + 4, end))
    offset = end
  }
  return strings
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}

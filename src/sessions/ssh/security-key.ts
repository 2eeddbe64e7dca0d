import { createHash, createPublicKey, type KeyObject, verify, type webcrypto } from 'node:crypto'

const EDWARDS = 'sk-ssh-ed25519@openssh.com'
const ECDSA = 'sk-ecdsa-sha2-nistp256@openssh.com'

/** Whether keys of this kind live on a FIDO device. */
export function isSecurityKey(algorithm: string): boolean {
  return algorithm === EDWARDS || algorithm === ECDSA
}

/** Set when somebody has touched the device. */
const PRESENT = 0x01

/** The flags and the counter of the device, behind the signature itself. */
const TRAILER = 5

const COORDINATE = 32

/**
 * Whether the device that holds the key signed the data, with somebody touching it. Devices do not sign what they are
 * asked to but digests of it and of the key's purpose, with flags and counter between them (OpenSSH's PROTOCOL.u2f).
 */
export function deviceSignatureHolds(
  key: Buffer,
  algorithm: string,
  data: Buffer,
  signature: Buffer,
): boolean {
  const read = readKey(key, algorithm)
  const trailer = signature.subarray(-TRAILER)
  const raw = rawSignature(signature.subarray(0, -TRAILER), algorithm)
  if (read === undefined || raw === undefined || trailer.length < TRAILER) return false
  if ((trailer[0]! & PRESENT) === 0) return false
  const signed = Buffer.concat([digest(read.application), trailer, digest(data)])
  if (algorithm === EDWARDS) return verify(null, signed, read.publicKey, raw)
  return verify('sha256', signed, { key: read.publicKey, dsaEncoding: 'ieee-p1363' }, raw)
}

function readKey(key: Buffer, algorithm: string): { publicKey: KeyObject; application: Buffer } | undefined {
  const strings = readStrings(key)
  if (strings?.[0]?.toString('latin1') !== algorithm) return undefined
  const application = strings.at(-1)!
  const publicKey = importKey(algorithm === EDWARDS ? edwards(strings) : ecdsa(strings))
  return publicKey && { publicKey, application }
}

function edwards([, point, application]: readonly Buffer[]): webcrypto.JsonWebKey | undefined {
  if (point === undefined || application === undefined) return undefined
  return { kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') }
}

function ecdsa([, curve, point, application]: readonly Buffer[]): webcrypto.JsonWebKey | undefined {
  if (curve?.toString('latin1') !== 'nistp256' || point === undefined || application === undefined)
    return undefined
  if (point.length !== 1 + 2 * COORDINATE || point[0] !== 4) return undefined
  const [x, y] = [point.subarray(1, 1 + COORDINATE), point.subarray(1 + COORDINATE)]
  return { kty: 'EC', crv: 'P-256', x: x.toString('base64url'), y: y.toString('base64url') }
}

function importKey(jwk: webcrypto.JsonWebKey | undefined): KeyObject | undefined {
  if (jwk === undefined) return undefined
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    // Not a point of the curve.
    return undefined
  }
}

/** An Ed25519 signature as it came; both numbers of an ECDSA signature at their full length. */
function rawSignature(signature: Buffer, algorithm: string): Buffer | undefined {
  if (algorithm === EDWARDS) return signature
  const numbers = readStrings(signature)?.map((number) => (number[0] === 0 ? number.subarray(1) : number))
  if (numbers?.length !== 2 || numbers.some(({ length }) => length > COORDINATE)) return undefined
  return Buffer.concat(numbers.flatMap((number) => [Buffer.alloc(COORDINATE - number.length), number]))
}

/** Strings of RFC 4251 section 5, one after the other, with nothing behind them. */
function readStrings(bytes: Buffer): Buffer[] | undefined {
  const strings: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 <= bytes.length ? at + 4 + bytes.readUInt32BE(at) : Number.POSITIVE_INFINITY
    if (end > bytes.length) return undefined
    strings.push(bytes.subarray(at + 4, end))
    at = end
  }
  return strings
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}

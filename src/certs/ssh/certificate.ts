import { randomBytes } from 'node:crypto'
import type { Secret } from '../../base/values/secret.ts'
import { problem } from '../problem.ts'
import { openSshSigner } from './authority.ts'
import { checkCriticalOptions, checkExtensions, checkPrincipals } from './options.ts'
import type { SshPublicKey } from './public-key.ts'
import { uint32, uint64, WireReader, wireString } from './wire.ts'

/** The content of an SSH certificate. */
export interface SshCertificateRequest {
  kind: 'user' | 'host'
  /** The key to certify. */
  publicKey: SshPublicKey
  /** The authority's stored key. */
  authorityKey: Secret
  serial: bigint
  /** The id of the resource: it becomes the key id, which servers log, and the comment of the text. */
  id: string
  principals: string[]
  /** Milliseconds; the certificate holds whole seconds. */
  validAfter: number
  validUntil: number
  criticalOptions?: Record<string, string>
  extensions?: Record<string, string>
}

/** The lifetime of a certificate when the request names no end, in milliseconds. */
export const DEFAULT_SSH_VALIDITY_MS = { user: 24 * 60 * 60 * 1000, host: 365 * 24 * 60 * 60 * 1000 } as const

const KIND_CODES = { user: 1, host: 2 } as const
const MAX_TIME = Date.UTC(9999, 11, 31, 23, 59, 59)

/** A unique serial number: 64 random bits. */
export function newSshSerial(): bigint {
  return randomBytes(8).readBigUInt64BE()
}

/**
 * Signs an SSH certificate in the format of OpenSSH's PROTOCOL.certkeys and returns its one-line text. Rejects everything
 * that a server would reject later.
 */
export async function signSshCertificate(request: SshCertificateRequest): Promise<string> {
  const { publicKey, criticalOptions = {}, extensions = {} } = request
  const [after, until] = checkValidity(request.validAfter, request.validUntil)
  checkPrincipals(request.principals)
  checkCriticalOptions(criticalOptions)
  checkExtensions(extensions)
  if (request.kind === 'host' && Object.keys({ ...criticalOptions, ...extensions }).length > 0)
    throw problem('extensions', 'host_options')

  const signer = openSshSigner(request.authorityKey)
  const algorithm = certificateAlgorithm(publicKey.algorithm)
  const key = new WireReader(publicKey.blob)
  key.string() // Skips the plain algorithm name, which the certificate's replaces; the numbers after it stay.
  const body = Buffer.concat([
    wireString(algorithm),
    wireString(randomBytes(32)),
    key.rest,
    uint64(request.serial),
    uint32(KIND_CODES[request.kind]),
    wireString(request.id),
    wireString(Buffer.concat(request.principals.map(wireString))),
    uint64(after),
    uint64(until),
    wireString(encodeOptions(criticalOptions)),
    wireString(encodeOptions(extensions)),
    wireString(''),
    wireString(signer.blob),
  ])
  const certificate = Buffer.concat([body, wireString(await signer.sign(body))])
  return `${algorithm} ${certificate.toString('base64')} ${request.id}`
}

function checkValidity(validAfter: number, validUntil: number): [bigint, bigint] {
  const inRange = (time: number) => time >= 0 && time <= MAX_TIME
  if (!inRange(validAfter) || !inRange(validUntil)) throw problem('valid_until', 'validity_range')
  const [after, until] = [Math.floor(validAfter / 1000), Math.floor(validUntil / 1000)]
  if (until <= after) throw problem('valid_until', 'validity')
  return [BigInt(after), BigInt(until)]
}

function certificateAlgorithm(algorithm: string): string {
  const [name, suffix = 'openssh.com'] = algorithm.split('@')
  return `${name}-cert-v01@${suffix}`
}

/** The format requires names in byte order, and wraps a non-empty value in another string. */
function encodeOptions(options: Record<string, string>): Buffer {
  const sorted = Object.entries(options).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  return Buffer.concat(
    sorted.flatMap(([name, value]) => [wireString(name), wireString(value === '' ? '' : wireString(value))]),
  )
}

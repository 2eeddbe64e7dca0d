import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describeFileError } from '../../base/text/file-error.ts'
import { ConfigError } from '../config/error.ts'
import { isRecord } from '../config/shape.ts'
import { isVersion } from './release.ts'

/** A file of a channel. */
export interface PublishedFile {
  file: string
  sha256: string
  size: number
}

/** What a channel offers: one version, its archive, and its single executables by platform. */
export interface Manifest {
  version: string
  archive: PublishedFile
  executables: Readonly<Record<string, PublishedFile>>
}

/** No archive is larger, nor what is in it. */
export const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024

/** Reads a public key: PEM text, the path of a PEM file, or the 32 bytes of an Ed25519 key in base64. */
export function readUpdateKey(text: string): KeyObject {
  try {
    if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) {
      const x = Buffer.from(text, 'base64').toString('base64url')
      return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
    }
    const key = createPublicKey(text.includes('-----BEGIN') ? text : readFileSync(text, 'utf8'))
    if (key.asymmetricKeyType !== 'ed25519') throw new Error('it is not an Ed25519 key')
    return key
  } catch (error) {
    throw new ConfigError([`update_key cannot be used: ${describeFileError(error)}`])
  }
}

/** Verifies the signature and parses the manifest; throws for anything invalid. */
export function readManifest(bytes: Buffer, signature: string, key: KeyObject): Manifest {
  const signatureBytes = Buffer.from(signature.trim(), 'base64')
  if (signatureBytes.length !== 64 || !verify(null, bytes, key, signatureBytes)) {
    throw new Error('the signature of the update manifest does not match the update key')
  }
  const content: unknown = JSON.parse(bytes.toString('utf8'))
  if (
    !isRecord(content) ||
    content.name !== 'adit' ||
    typeof content.version !== 'string' ||
    !isVersion(content.version)
  ) {
    throw new Error('the update manifest names no version of adit')
  }
  const executables = isRecord(content.executables) ? Object.entries(content.executables) : []
  return {
    version: content.version,
    archive: readPublishedFile(content.archive),
    executables: Object.fromEntries(
      executables.map(([platform, file]) => [platform, readPublishedFile(file)]),
    ),
  }
}

function readPublishedFile(content: unknown): PublishedFile {
  const { file, sha256, size } = isRecord(content) ? content : {}
  if (typeof file !== 'string' || !/^[\w][\w.-]{0,200}$/.test(file))
    throw new Error('the update manifest names no archive')
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256))
    throw new Error('the update manifest has no SHA-256')
  if (typeof size !== 'number' || !(size > 0 && size <= MAX_ARCHIVE_BYTES))
    throw new Error('the update manifest has no size')
  return { file, sha256, size }
}

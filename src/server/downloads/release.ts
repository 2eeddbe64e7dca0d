import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CommandFailure } from '../../base/process/command-line.ts'
import { describeFileError } from '../../base/text/file-error.ts'

/** A release in a directory: what `npm run release` makes of it, or the server of its own executable. */
export interface OfferedRelease {
  readonly directory: string
  readonly version: string
  /** The files that are handed out, with what they are verified by. */
  readonly files: ReadonlyMap<string, { readonly sha256: string }>
  /** The 32 bytes of the Ed25519 key that has signed it, in base64; undefined for an unsigned one. */
  readonly key: string | undefined
}

const SUMS = 'SHA256SUMS'
/** The key of a signed release, in PEM. */
export const KEY_FILE = 'release.pub'
const MANIFEST = 'manifest.json'
/** What has a signature in a signed release. */
const SIGNED = [SUMS, MANIFEST]
/** What describes and verifies the artefacts. */
const DESCRIPTIONS = [...SIGNED, ...SIGNED.map((name) => `${name}.sig`), KEY_FILE]
const VERSION = /^\d+\.\d+\.\d+(?:-[\w.-]+)?$/
/** It is part of the names of files. */
const MAX_VERSION = 80
const ARTEFACTS = ['adit-', 'adit-server-', 'adit-agent-', 'adit_']

/** The name of an artefact without its version, which goes on when the version changes: `adit-agent.tgz`. */
export function toLastingName(name: string, { version }: Pick<OfferedRelease, 'version'>): string {
  return name.replace(`-${version}`, '').replace(`_${version}`, '')
}

function isArtefact(name: string, version: string): boolean {
  return (
    ARTEFACTS.some((prefix) => name.startsWith(`${prefix}${version}`)) &&
    /^[\w.-]+\.(?:tgz|deb|xz|gz)$/.test(name)
  )
}

/** Reads a release; its artefacts are those of its checksums. Rejects when the directory has none. */
export async function readRelease(directory: string): Promise<OfferedRelease> {
  const sums = await readFile(join(directory, SUMS), 'utf8').catch((error: unknown) => {
    throw new CommandFailure(
      `${directory} holds no release: ${SUMS} in it cannot be read: ${describeFileError(error)}. npm run release makes one in dist/release.`,
    )
  })
  const version = await readVersion(join(directory, MANIFEST))
  const files = new Map<string, { sha256: string }>()
  for (const line of sums.split('\n')) {
    const [sha256 = '', name = ''] = line.split('  ')
    if (/^[0-9a-f]{64}$/.test(sha256) && isArtefact(name, version)) files.set(name, { sha256 })
  }
  if (files.size === 0) throw new CommandFailure(`${join(directory, SUMS)} names no artefact of ${version}.`)
  for (const name of DESCRIPTIONS) {
    const content = await readFile(join(directory, name)).catch(() => undefined)
    if (content !== undefined) files.set(name, { sha256: createHash('sha256').update(content).digest('hex') })
  }
  const isSigned = SIGNED.every((name) => files.has(`${name}.sig`)) && files.has(KEY_FILE)
  const key = isSigned ? toBase64(await readKey(join(directory, KEY_FILE))) : undefined
  return { directory, version, files, key }
}

async function readVersion(manifest: string): Promise<string> {
  const content: unknown = await readFile(manifest, 'utf8')
    .then(JSON.parse)
    .catch(() => undefined)
  const version = typeof content === 'object' && content !== null && 'version' in content && content.version
  if (typeof version === 'string' && version.length <= MAX_VERSION && VERSION.test(version)) return version
  throw new CommandFailure(`${manifest} of the release names no version.`)
}

/** Reads an Ed25519 key in PEM. */
export async function readKey(file: string): Promise<KeyObject> {
  try {
    const key = createPublicKey(await readFile(file))
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch (error) {
    throw new CommandFailure(`The key ${file} cannot be read: ${describeFileError(error)}.`)
  }
  throw new CommandFailure(`The key ${file} is not an Ed25519 key.`)
}

/** Rejects a release that this key has not signed. */
export async function verifySignatures({ directory }: OfferedRelease, key: KeyObject): Promise<void> {
  for (const name of SIGNED) {
    const file = join(directory, name)
    const signature = await readFile(`${file}.sig`, 'utf8').catch(() => undefined)
    if (signature === undefined)
      throw new CommandFailure(`The release is not signed: ${file}.sig is missing.`)
    if (!verify(null, await readFile(file), key, Buffer.from(signature.trim(), 'base64')))
      throw new CommandFailure(`The signature of ${file} does not match the key; nothing was added.`)
  }
}

/** Rejects a release with a file that is missing or is not the one of its checksums. */
export async function verifyFiles({ directory, files }: OfferedRelease): Promise<void> {
  for (const [name, { sha256 }] of files) {
    const actual = await digestOf(join(directory, name)).catch((error: unknown) => {
      throw new CommandFailure(`${name} of the release cannot be read: ${describeFileError(error)}.`)
    })
    if (actual !== sha256) throw new CommandFailure(`The checksum of ${name} is wrong; nothing was added.`)
  }
}

export async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** The size of a file of a release, which may have been replaced by another release meanwhile. */
export async function sizeOf({ directory }: OfferedRelease, name: string): Promise<number | undefined> {
  return (await stat(join(directory, name)).catch(() => undefined))?.size
}

function toBase64(key: KeyObject): string {
  return Buffer.from(String(key.export({ format: 'jwk' }).x), 'base64url').toString('base64')
}

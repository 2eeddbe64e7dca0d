import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** Reads the private key that update channels are signed with. */
export async function readSigningKey(file: string): Promise<KeyObject> {
  const key = createPrivateKey(await readFile(file))
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`${file} is not an Ed25519 key`)
  return key
}

/**
 * Writes `manifest.json` of an update channel and `SHA256SUMS` over all files of a directory, and signs both. Returns the
 * names of the files with a checksum.
 */
export async function signRelease(
  directory: string,
  version: string,
  key: KeyObject | undefined,
): Promise<readonly string[]> {
  await writeFile(
    join(directory, 'manifest.json'),
    JSON.stringify(await channelManifest(directory, version), null, 2),
  )
  if (key !== undefined) await signFile(join(directory, 'manifest.json'), key)
  const files = (await readdir(directory)).sort()
  const lines = await Promise.all(
    files.map(async (file) => `${(await describeFile(directory, file)).sha256}  ${file}\n`),
  )
  await writeFile(join(directory, 'SHA256SUMS'), lines.join(''))
  if (key !== undefined) await signFile(join(directory, 'SHA256SUMS'), key)
  return files
}

/** docs/agent.md, Updates: the package, and a gzip-compressed executable for each platform. */
async function channelManifest(directory: string, version: string) {
  const executables: Record<string, object> = {}
  for (const file of await readdir(directory)) {
    const platform = new RegExp(`^adit-${RegExp.escape(version)}-(\\w+-\\w+?)(?:\\.exe)?\\.gz$`).exec(
      file,
    )?.[1]
    if (platform !== undefined) executables[platform] = await describeFile(directory, file)
  }
  const archive = await describeFile(directory, `adit-server-${version}.tgz`)
  return { name: 'adit', version, archive, executables }
}

async function describeFile(directory: string, file: string) {
  const path = join(directory, file)
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return { file, sha256: hash.digest('hex'), size: (await stat(path)).size }
}

async function signFile(file: string, key: KeyObject): Promise<void> {
  await writeFile(`${file}.sig`, `${sign(null, await readFile(file), key).toString('base64')}\n`)
}

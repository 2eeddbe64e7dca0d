import { createReadStream, createWriteStream } from 'node:fs'
import { access, chmod, constants, copyFile, link, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { type Channel, limitSize } from './channel.ts'
import { requireHash } from './hash.ts'
import { MAX_ARCHIVE_BYTES, type Manifest } from './manifest.ts'
import { requireVersion } from './trial.ts'

/** The platform of this process, as manifests name it. */
export const PLATFORM = `${process.platform}-${process.arch}`

/**
 * Replaces a single executable by the version of a manifest, which must start and name itself first. The file always has
 * one complete version or the other; the old one stays beside it as `<file>.previous`. Running processes keep their own.
 */
export async function installExecutable(
  file: string,
  channel: Channel,
  { version, executables }: Manifest,
): Promise<void> {
  const published = executables[PLATFORM]
  if (!published) throw new Error(`version ${version} has no executable for ${PLATFORM} on this channel`)
  const directory = dirname(file)
  await access(directory, constants.W_OK).catch(() => {
    throw new Error(
      `the directory ${directory} is not writable for this user; update as the user who installed ${file}`,
    )
  })
  const download = join(directory, `.${basename(file)}-${process.pid}.download`)
  // Windows starts nothing whose name does not end in .exe.
  const candidate = join(directory, `.${process.pid}-${basename(file)}`)
  try {
    await channel.fetch(published.file, download, published.size)
    await requireHash(download, published.sha256)
    if (published.file.endsWith('.gz')) await unpack(download, candidate)
    else await rename(download, candidate)
    await chmod(candidate, (await stat(file)).mode)
    await syncFile(candidate)
    await requireVersion([candidate], version)
    await replaceFile(file, candidate)
  } finally {
    await rm(download, { force: true })
    await rm(candidate, { force: true })
  }
}

async function unpack(archive: string, target: string): Promise<void> {
  const limit = limitSize(MAX_ARCHIVE_BYTES)
  await pipeline(createReadStream(archive), createGunzip(), limit, createWriteStream(target))
}

/** Without this, a power loss after the rename could leave an empty file under the program's name. */
async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  await handle.sync().finally(() => handle.close())
}

async function replaceFile(file: string, candidate: string): Promise<void> {
  const previous = `${file}.previous`
  await rm(previous, { force: true })
  // Windows lets the file of a running program be renamed, but not replaced; some file systems have no hard links.
  if (process.platform === 'win32') await rename(file, previous)
  else await link(file, previous).catch(() => copyFile(file, previous))
  try {
    await rename(candidate, file)
  } catch (error) {
    await rename(previous, file)
    throw error
  }
}

import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import {
  chown,
  copyFile,
  mkdir,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { IS_EXECUTABLE } from '../../base/process/program-files.ts'
import { VERSION } from '../../base/version.ts'
import {
  digestOf,
  KEY_FILE,
  type OfferedRelease,
  readKey,
  readRelease,
  verifyFiles,
  verifySignatures,
} from './release.ts'

/** What the server hands out to agents: the release that the operator has added, otherwise its own executable. */
export interface Downloads {
  /** Undefined where there is neither. */
  current(): Promise<OfferedRelease | undefined>
}

const directoryOf = (dataDir: string) => join(dataDir, 'downloads')
/** A symlink, so that one release replaces another at once. */
const CURRENT = 'current'

/** Opens what is in the data directory; a release that is added later is handed out at once. */
export function openDownloads(dataDir: string): Downloads {
  const directory = directoryOf(dataDir)
  let known: OfferedRelease | undefined
  let own: Promise<OfferedRelease> | undefined

  return {
    async current() {
      const added = await findAdded(dataDir)
      if (added !== undefined) {
        if (known?.directory !== added) known = await readRelease(added)
        return known
      }
      if (!IS_EXECUTABLE) return undefined
      own ??= packExecutable(process.execPath, directory)
      own.catch(() => {
        own = undefined
      })
      return own
    },
  }
}

/** The release that the operator has added; undefined if there is none. */
export async function readAddedRelease(dataDir: string): Promise<OfferedRelease | undefined> {
  const added = await findAdded(dataDir)
  return added === undefined ? undefined : readRelease(added)
}

function findAdded(dataDir: string): Promise<string | undefined> {
  return realpath(join(directoryOf(dataDir), CURRENT)).catch(() => undefined)
}

/**
 * Adds a release, verified by its checksums and, if it is signed, by this key or the one inside; it replaces the former. The
 * copy is verified, since it is what is handed out.
 */
export async function addRelease(
  dataDir: string,
  source: string,
  keyFile: string | undefined,
): Promise<OfferedRelease> {
  const { files } = await readRelease(source)
  const directory = directoryOf(dataDir)
  const incoming = join(directory, `release-${randomUUID()}`)
  const link = `${incoming}.link`
  try {
    await mkdir(incoming, { recursive: true })
    for (const name of files.keys()) await copyFile(join(source, name), join(incoming, name))
    const ownKey = join(incoming, KEY_FILE)
    if (keyFile !== undefined) await copyFile(keyFile, ownKey)
    const release = await readRelease(incoming)
    if (keyFile !== undefined || release.key !== undefined)
      await verifySignatures(release, await readKey(ownKey))
    await verifyFiles(release)
    // The operator may be root, and the server another user.
    const { uid, gid } = await stat(dataDir)
    for (const path of [
      directory,
      incoming,
      ...[...release.files.keys()].map((name) => join(incoming, name)),
    ])
      await chown(path, uid, gid)
    const former = await findAdded(dataDir)
    await symlink(basename(incoming), link)
    await rename(link, join(directory, CURRENT))
    if (former !== undefined) await rm(former, { recursive: true, force: true })
    return release
  } catch (error) {
    await rm(incoming, { recursive: true, force: true })
    await rm(link, { force: true })
    throw error
  }
}

/** Removes the release that was added; false if there is none. */
export async function removeRelease(dataDir: string): Promise<boolean> {
  const added = await findAdded(dataDir)
  await rm(join(directoryOf(dataDir), CURRENT), { force: true })
  if (added !== undefined) await rm(added, { recursive: true, force: true })
  return added !== undefined
}

/** The release that an executable is by itself: compressed once, unsigned, and without what other systems need. */
export async function packExecutable(file: string, directory: string): Promise<OfferedRelease> {
  const { size, mtimeMs } = await stat(file)
  const target = join(directory, `own-${VERSION}-${size}-${Math.floor(mtimeMs)}`)
  const packed = await readRelease(target).catch(() => undefined)
  if (packed !== undefined) return packed
  const staging = join(directory, `.${randomUUID()}`)
  try {
    await mkdir(staging, { recursive: true, mode: 0o700 })
    const name = `adit-${VERSION}-${process.platform}-${process.arch}${process.platform === 'win32' ? '.exe' : ''}.gz`
    await pipeline(createReadStream(file), createGzip(), createWriteStream(join(staging, name)))
    await writeFile(join(staging, 'manifest.json'), JSON.stringify({ name: 'adit', version: VERSION }))
    await writeFile(join(staging, 'SHA256SUMS'), `${await digestOf(join(staging, name))}  ${name}\n`)
    for (const former of await readdir(directory))
      if (former.startsWith('own-')) await rm(join(directory, former), { recursive: true, force: true })
    await rename(staging, target)
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    throw error
  }
  return readRelease(target)
}

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, constants, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import type { Channel } from './channel.ts'
import type { Manifest } from './manifest.ts'

const run = promisify(execFile)

/**
 * Installs a version beside the running one: `versions/<version>` in the installation, with `versions/current`
 * pointing at it. The launcher follows the pointer as long as the installation it was made for (`versions/base`) is
 * still the same. Nothing of the running version is touched.
 */
export async function installVersion(
  root: string,
  channel: Channel,
  { version, archive }: Manifest,
): Promise<void> {
  const versions = join(root, 'versions')
  await access(root, constants.W_OK).catch(() => {
    throw new Error(`the directory ${root} is not writable for this user; update it the way it was installed`)
  })
  const incoming = join(versions, `.incoming-${process.pid}`)
  const target = join(versions, version)
  try {
    await rm(incoming, { recursive: true, force: true })
    await mkdir(incoming, { recursive: true })
    const file = join(incoming, 'archive.tgz')
    await channel.fetch(archive.file, file, archive.size)
    if ((await digest(file)) !== archive.sha256)
      throw new Error('the archive is not the one its manifest describes')
    await run('tar', ['-xzf', file, '-C', incoming, '--no-same-owner'])
    const unpacked = join(incoming, 'package')
    await checkPackage(root, unpacked, version)
    await rm(target, { recursive: true, force: true })
    await rename(unpacked, target)
    await pointTo(versions, version)
    await writeFile(join(versions, 'base'), `${(await readPackage(root)).version}\n`)
  } finally {
    await rm(incoming, { recursive: true, force: true })
  }
}

interface Package {
  version: string
  dependencies?: Record<string, string>
}

async function readPackage(directory: string): Promise<Package> {
  return JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')) as Package
}

/** The archive must be what it says and able to run with the packages installed here. */
async function checkPackage(root: string, unpacked: string, version: string): Promise<void> {
  const [ours, theirs] = await Promise.all([readPackage(root), readPackage(unpacked)])
  if (theirs.version !== version)
    throw new Error(`the archive holds version ${theirs.version}, not ${version}`)
  const bundled = await access(join(unpacked, 'node_modules')).then(
    () => true,
    () => false,
  )
  if (bundled) return
  for (const [name, wanted] of Object.entries(theirs.dependencies ?? {})) {
    if (ours.dependencies?.[name] !== wanted) {
      throw new Error(
        `version ${version} needs ${name} ${wanted}, which an update does not bring; install it with npm`,
      )
    }
  }
}

async function digest(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** Moves the pointer in one step, so that a start never finds it missing. */
async function pointTo(versions: string, version: string): Promise<void> {
  const draft = join(versions, `.current-${process.pid}`)
  await rm(draft, { force: true })
  await symlink(version, draft)
  await rename(draft, join(versions, 'current'))
}

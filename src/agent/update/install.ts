import { execFile } from 'node:child_process'
import { access, constants, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createDirectory } from '../../base/process/create-directory.ts'
import type { Channel } from './channel.ts'
import { requireHash } from './hash.ts'
import type { Manifest } from './manifest.ts'
import { isNewer } from './release.ts'
import { requireVersion } from './trial.ts'

const run = promisify(execFile)
const UNPACK_TIMEOUT_MS = 120_000

/** What the launcher starts. */
const PROGRAM = join('dist', 'lib', 'cli.js')

/**
 * Installs a version beside the running one: `versions/<version>` in the installation, with `versions/current` as a
 * symlink to it. The launcher follows the symlink while the base installation still has the version in
 * `versions/base`. The running version is not modified.
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
  const stagingDir = join(versions, `.incoming-${process.pid}`)
  const target = join(versions, version)
  try {
    await rm(stagingDir, { recursive: true, force: true })
    createDirectory(stagingDir)
    const file = join(stagingDir, 'archive.tgz')
    await channel.fetch(archive.file, file, archive.size)
    await requireHash(file, archive.sha256)
    await run('tar', ['-xzf', file, '-C', stagingDir, '--no-same-owner'], {
      timeout: UNPACK_TIMEOUT_MS,
    })
    const packageDir = join(stagingDir, 'package')
    await checkPackage(root, packageDir, version)
    await requireVersion([process.execPath, join(packageDir, PROGRAM)], version)
    await rm(target, { recursive: true, force: true })
    await rename(packageDir, target)
    await switchCurrent(versions, version)
    await writeFile(join(versions, 'base'), `${(await readPackage(root)).version}\n`)
  } finally {
    await rm(stagingDir, { recursive: true, force: true })
  }
}

interface Package {
  version: string
  dependencies?: Record<string, string>
  engines?: { node: string }
}

async function readPackage(directory: string): Promise<Package> {
  return JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')) as Package
}

/** The archive must contain the announced version as a built program, for the installed packages. */
async function checkPackage(root: string, packageDir: string, version: string): Promise<void> {
  const [installed, candidate] = await Promise.all([readPackage(root), readPackage(packageDir)])
  if (candidate.version !== version)
    throw new Error(`the archive holds version ${candidate.version}, not ${version}`)
  await access(join(packageDir, PROGRAM)).catch(() => {
    throw new Error(
      `the archive holds no built program (${PROGRAM}); publish what \`npm run packages\` builds`,
    )
  })
  const requiredNode = candidate.engines?.node.replace('>=', '') ?? '0.0.0'
  if (isNewer(requiredNode, process.versions.node))
    throw new Error(
      `version ${version} needs Node ${requiredNode} or newer; this is Node ${process.versions.node}`,
    )
  const bundled = await access(join(packageDir, 'node_modules')).then(
    () => true,
    () => false,
  )
  if (bundled) return
  for (const [name, requiredVersion] of Object.entries(candidate.dependencies ?? {})) {
    if (installed.dependencies?.[name] !== requiredVersion) {
      throw new Error(
        `version ${version} needs ${name} ${requiredVersion}, which an update does not include; install it with npm`,
      )
    }
  }
}

/** Replaces the symlink atomically, so that it never dangles. */
async function switchCurrent(versions: string, version: string): Promise<void> {
  const tempLink = join(versions, `.current-${process.pid}`)
  await rm(tempLink, { force: true })
  await symlink(version, tempLink)
  await rename(tempLink, join(versions, 'current'))
}

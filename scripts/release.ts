// Makes a release in dist/release: npm packages, single executables, Debian packages, the bill of materials, checksums,
// and the manifest of the update channel. With a key (Ed25519, PEM) the checksums and the manifest are signed:
//   node scripts/release.ts [--key FILE] [--no-build]
import { execFileSync } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readSigningKey, signRelease } from './release/signature.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const release = join(dist, 'release')
const { values } = parseArgs({
  options: { key: { type: 'string' }, build: { type: 'boolean', default: true } },
  allowNegative: true,
})
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }

// Read first: a build takes minutes.
const key = values.key === undefined ? undefined : await readSigningKey(values.key)
if (values.build) {
  runScript('build.ts')
  runScript('build-executables.ts')
  runScript('build-deb.ts', '--no-build', 'amd64', 'arm64')
  const pack = ['pack', root, join(dist, 'adit-agent'), '--pack-destination', dist, '--silent']
  execFileSync('npm', pack, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
}
await rm(release, { recursive: true, force: true })
await mkdir(release, { recursive: true })
for (const directory of [dist, join(dist, 'executables')])
  for (const file of await readdir(directory))
    if (isArtefact(file)) await copyFile(join(directory, file), join(release, file))
await copyFile(join(root, 'scripts', 'install.sh'), join(release, 'install.sh'))
runScript('sbom.ts', join(release, `adit-${version}.cdx.json`))
const files = await signRelease(release, version, key)
if (key !== undefined)
  await writeFile(join(release, 'release.pub'), createPublicKey(key).export({ type: 'spki', format: 'pem' }))
process.stderr.write(
  `release: ${files.length} files in ${release}${key === undefined ? ', unsigned: name a key with --key FILE' : ''}\n`,
)

/** Packages and compressed executables of this version: no release offers the same program uncompressed too. */
function isArtefact(file: string): boolean {
  return (
    /\.(?:tgz|deb|xz|gz)$/.test(file) &&
    /^adit(?:-server|-agent)?[-_]/.test(file) &&
    file.includes(`${version}`)
  )
}

function runScript(name: string, ...args: string[]): void {
  execFileSync(process.execPath, [join(root, 'scripts', name), ...args], { cwd: root, stdio: 'inherit' })
}

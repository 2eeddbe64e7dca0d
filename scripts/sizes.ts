// Prints the size of each artefact that is in dist as a table, or with --write puts the table into docs/install.md:
//   node scripts/sizes.ts [--write]
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RUNTIMES } from './executables/runtime.ts'

const root = join(import.meta.dirname, '..')
const document = join(root, 'docs', 'install.md')
const TABLE = /(?<=<!-- sizes: npm run sizes -- --write -->\n)[\s\S]*?(?=<!-- end of sizes -->)/
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

const packages = ['adit', 'adit-agent'].map((name) => ({ name, file: `${name}-${version}.tgz` }))
const debianPackage = `adit_${version}_amd64.deb`
const executables = Object.keys(RUNTIMES).map((platform) => ({
  platform,
  file: `executables/adit-${version}-${platform}${platform.startsWith('win32') ? '.exe' : ''}`,
}))

const rows = [
  ...packages.filter(({ file }) => isBuilt(file)).map(describePackage),
  ...[debianPackage].filter(isBuilt).map(describeDebianPackage),
  ...executables.filter(({ file }) => isBuilt(`${file}.xz`)).map(describeExecutable),
]
const table = `| Artefact | Download | Installed |\n|---|---|---|\n${rows.map((row) => `| ${row.join(' | ')} |\n`).join('')}`
if (process.argv.includes('--write'))
  writeFileSync(document, readFileSync(document, 'utf8').replace(TABLE, table))
else process.stdout.write(table)

function isBuilt(file: string): boolean {
  return existsSync(join(root, 'dist', file))
}

function sizeOf(file: string): string {
  return megabytes(statSync(join(root, 'dist', file)).size)
}

function describePackage({ name, file }: { name: string; file: string }): string[] {
  const list = execFileSync('tar', ['-tvzf', join(root, 'dist', file)], { encoding: 'utf8' })
  const bytes = [...list.matchAll(/^\S+ +\S+ +(\d+)/gm)].reduce((sum, [, size]) => sum + Number(size), 0)
  return [`npm package \`${name}\``, sizeOf(file), megabytes(bytes)]
}

function describeDebianPackage(file: string): string[] {
  const path = join(root, 'dist', file)
  const kilobytes = execFileSync('dpkg-deb', ['--field', path, 'Installed-Size'], { encoding: 'utf8' })
  return ['Debian package (amd64)', sizeOf(file), megabytes(Number(kilobytes) * 1024)]
}

/** The download is compressed with xz. */
function describeExecutable({ platform, file }: { platform: string; file: string }): string[] {
  return [`executable \`${platform}\``, sizeOf(`${file}.xz`), sizeOf(file)]
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

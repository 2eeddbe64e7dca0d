// Prints the size of each artefact in dist as a table, or with --write puts the table into docs/install.md:
//   node scripts/sizes.ts [--write]
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RUNTIMES } from './executables/runtime.ts'

const root = join(import.meta.dirname, '..')
const document = join(root, 'docs', 'install.md')
const TABLE = /(?<=<!-- sizes: npm run sizes -- --write -->\n)[\s\S]*?(?=<!-- end of sizes -->)/
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

const rows = [
  ...['adit', 'adit-agent'].map((name) => describePackage(name)),
  describeDebianPackage(),
  ...Object.keys(RUNTIMES).map(describeExecutable),
]
const table = `| Artefact | Download | Installed |\n|---|---|---|\n${rows.map((row) => `| ${row.join(' | ')} |\n`).join('')}`
if (process.argv.includes('--write'))
  writeFileSync(document, readFileSync(document, 'utf8').replace(TABLE, table))
else process.stdout.write(table)

function describePackage(name: string): string[] {
  const file = join(root, 'dist', `${name}-${version}.tgz`)
  const list = execFileSync('tar', ['-tvzf', file], { encoding: 'utf8' })
  const bytes = [...list.matchAll(/^\S+ +\S+ +(\d+)/gm)].reduce((sum, [, size]) => sum + Number(size), 0)
  return [`npm package \`${name}\``, megabytes(statSync(file).size), megabytes(bytes)]
}

function describeDebianPackage(): string[] {
  const file = join(root, 'dist', `adit_${version}_amd64.deb`)
  const kilobytes = execFileSync('dpkg-deb', ['--field', file, 'Installed-Size'], { encoding: 'utf8' })
  return ['Debian package (amd64)', megabytes(statSync(file).size), megabytes(Number(kilobytes) * 1024)]
}

/** The download is compressed with xz. */
function describeExecutable(platform: string): string[] {
  const suffix = platform.startsWith('win32') ? '.exe' : ''
  const file = join(root, 'dist', 'executables', `adit-${version}-${platform}${suffix}`)
  return [
    `executable \`${platform}\``,
    megabytes(statSync(`${file}.xz`).size),
    megabytes(statSync(file).size),
  ]
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

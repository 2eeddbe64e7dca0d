// Prints the size of each artefact that is in dist as a table, and the times of the install channels that "npm run
// test:channels" has measured; with --write puts the tables into docs/install.md. A table without measurements stays.
//   node scripts/sizes.ts [--write]
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RUNTIMES } from './executables/runtime.ts'

const root = join(import.meta.dirname, '..')
const document = join(root, 'docs', 'install.md')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

const packages = ['adit-server', 'adit-agent'].map((name) => ({ name, file: `${name}-${version}.tgz` }))
const debianPackages = ['amd64', 'arm64'].map((architecture) => `adit_${version}_${architecture}.deb`)
const executables = Object.keys(RUNTIMES).map((platform) => ({
  platform,
  file: `executables/adit-${version}-${platform}${platform.startsWith('win32') ? '.exe' : ''}`,
}))

const rows = [
  ...packages.filter(({ file }) => isBuilt(file)).map(describePackage),
  ...debianPackages.filter(isBuilt).map(describeDebianPackage),
  ...executables.filter(({ file }) => isBuilt(`${file}.xz`)).map(describeExecutable),
]
const tables = {
  sizes: formatTable(['Artefact', 'Download', 'Installed'], rows),
  times: withTimesNote(formatTable(['Channel', 'Install', 'First URL', '`adit version`'], readTimes())),
}
for (const [name, table] of Object.entries(tables)) {
  if (table === '') continue
  if (process.argv.includes('--write')) writeTable(name, table)
  else process.stdout.write(`${table}\n`)
}

function formatTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  return `${line(titles)}|${'---|'.repeat(titles.length)}\n${rows.map(line).join('')}`
}

/** What the columns mean. */
function withTimesNote(table: string): string {
  return table === ''
    ? ''
    : `In an empty Debian system, measured by \`npm run test:channels\`: *Install* is everything that the channel needs beyond the base
system, with downloads from package registries; *First URL* is from the first start of the server to a response through an agent;
*\`adit version\`* is the fastest of nine runs. For npm, Node 24 is already installed; for the container, the time includes building the image.

${table}`
}

/** Replaces a table between its markers. */
function writeTable(name: string, table: string): void {
  const text = readFileSync(document, 'utf8')
  const start = text.indexOf(`<!-- ${name}: npm run sizes -- --write -->\n`)
  const end = text.indexOf(`<!-- end of ${name} -->`)
  if (start < 0 || end < start) throw new Error(`docs/install.md has no place for the ${name}`)
  const from = text.indexOf('\n', start) + 1
  writeFileSync(document, `${text.slice(0, from)}${table}${text.slice(end)}`)
}

function readTimes(): string[][] {
  const file = join(root, 'dist', 'channels.json')
  if (!existsSync(file)) return []
  type Times = { install_ms: number; first_url_ms: number; version_ms: number }
  const channels = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Times>
  return Object.entries(channels).map(([name, { install_ms, first_url_ms, version_ms }]) => [
    name,
    seconds(install_ms),
    seconds(first_url_ms),
    `${Math.round(version_ms)} ms`,
  ])
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

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
  const [, architecture] = /_(\w+)\.deb$/.exec(file)!
  return [`Debian package (${architecture})`, sizeOf(file), megabytes(Number(kilobytes) * 1024)]
}

/** The download is compressed with xz. */
function describeExecutable({ platform, file }: { platform: string; file: string }): string[] {
  return [`executable \`${platform}\``, sizeOf(`${file}.xz`), sizeOf(file)]
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

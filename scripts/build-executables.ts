// Builds single executables into dist/executables, for all platforms or those that are named, with a copy compressed by
// xz for downloads and one by gzip for the update channel:
//   node scripts/build-executables.ts [--no-compress] [PLATFORM...]
import { execFileSync } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, glob, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { createGzip } from 'node:zlib'
import { bundle } from './build/bundle.ts'
import { formatLicences } from './build/licences.ts'
import { signAdHoc } from './executables/ad-hoc-signature.ts'
import { fetchRuntime, RUNTIMES } from './executables/runtime.ts'

const root = join(import.meta.dirname, '..')
const directory = join(root, 'dist', 'executables')
const { values, positionals } = parseArgs({
  options: { compress: { type: 'boolean', default: true } },
  allowNegative: true,
  allowPositionals: true,
})
const platforms = positionals.length === 0 ? Object.keys(RUNTIMES) : positionals
const unknownPlatform = platforms.find((platform) => !(platform in RUNTIMES))
if (unknownPlatform !== undefined) {
  process.stderr.write(
    `There is no runtime for "${unknownPlatform}"; the platforms are ${Object.keys(RUNTIMES).join(', ')}.\n`,
  )
  process.exit(2)
}

const { version, license } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  version: string
  license: string
}

const files = join(directory, '.files')
const assets = await collectAssets()
for (const platform of platforms) await buildExecutable(platform)

/** Bundles the program; returns the file of each asset by its name. */
async function collectAssets(): Promise<Record<string, string>> {
  report('bundling')
  execFileSync(process.execPath, [join(root, 'scripts', 'build-pages.ts')], { stdio: 'inherit' })
  await rm(files, { recursive: true, force: true })
  const program = { cli: join(root, 'src/cli.ts') }
  const packages = await bundle({ entries: program, directory: files, minify: true })
  // Not an ES module: it is the main script, which sets up the loader of the others.
  const entries = { executable: join(root, 'src/executable.ts') }
  await bundle({ entries, directory: files, format: 'cjs', minify: true, codeSplitting: false })
  await writeFile(join(files, 'package.json'), JSON.stringify({ version, license }))
  await mkdir(join(files, 'dist'))
  await writeFile(join(files, 'dist', 'third-party-licences.txt'), formatLicences(packages))
  return {
    ...(await listFiles(files, '**/*.{js,json,txt}')),
    ...(await listFiles(root, 'dist/{dashboard,docs,inspector}/**/*.*')),
    ...(await listFiles(root, 'scripts/install.sh')),
  }
}

async function listFiles(from: string, pattern: string): Promise<Record<string, string>> {
  const paths: Record<string, string> = {}
  for await (const path of glob(pattern, { cwd: from })) paths[path] = join(from, path)
  return paths
}

async function buildExecutable(platform: string): Promise<void> {
  report(`building for ${platform}`)
  const suffix = platform.startsWith('win32') ? '.exe' : ''
  const output = join(directory, `adit-${version}-${platform}${suffix}`)
  const staging = join(directory, `.incoming-${platform}${suffix}`)
  const runtime = fetchRuntime(platform, join(directory, '.runtimes'))
  const config = join(files, `sea-${platform}`)
  await writeFile(
    config,
    JSON.stringify({
      main: join(files, 'executable.js'),
      executable: runtime,
      output: staging,
      disableExperimentalSEAWarning: true,
      assets,
    }),
  )
  execFileSync(process.execPath, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] })
  if (platform.startsWith('darwin')) await signAdHoc(staging, 'adit')
  await chmod(staging, 0o755)
  await rename(staging, output)
  const sizes = [output, ...(values.compress ? await compress(output) : [])].map(describeSize)
  report(`${(await Promise.all(sizes)).join(', ')} (runtime: ${await megabytes(runtime)})`)
}

async function compress(file: string): Promise<string[]> {
  execFileSync('xz', ['--keep', '--force', '--threads=0', file])
  await pipeline(createReadStream(file), createGzip({ level: 9 }), createWriteStream(`${file}.gz`))
  return [`${file}.xz`, `${file}.gz`]
}

async function megabytes(file: string): Promise<string> {
  return `${((await stat(file)).size / 1e6).toFixed(1)} MB`
}

async function describeSize(file: string): Promise<string> {
  return `${basename(file)} ${await megabytes(file)}`
}

function report(message: string): void {
  process.stderr.write(`executables: ${message}\n`)
}

// Builds what the npm packages ship, into dist/: the package `adit` from this directory, `adit-agent` in dist/adit-agent.
//   node scripts/build.ts
import { execFileSync } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from './build/bundle.ts'
import { formatLicences } from './build/licences.ts'
import { agentManifest } from './build/manifest.ts'
import { writeTypes } from './build/types.ts'

const root = join(import.meta.dirname, '..')
const LIBRARY = join(root, 'src', 'agent', 'index.ts')

execFileSync(process.execPath, [join(root, 'scripts', 'build-pages.ts')], { stdio: 'inherit' })
await buildProgram(root, 'cli.ts')
await buildAgentPackage(join(root, 'dist', 'adit-agent'))

/** Writes the program, the library with its types, and the licences below `dist` of a package. */
async function buildProgram(packageDir: string, program: string): Promise<void> {
  const dist = join(packageDir, 'dist')
  for (const directory of ['lib', 'types']) await rm(join(dist, directory), { recursive: true, force: true })
  process.stderr.write(`build: bundling ${program}\n`)
  const packages = await bundle({
    entries: { cli: join(root, 'src', program), index: LIBRARY },
    directory: join(dist, 'lib'),
  })
  await writeFile(join(dist, 'third-party-licences.txt'), formatLicences(packages))
  await writeTypes(root, LIBRARY, join(dist, 'types'))
}

async function buildAgentPackage(packageDir: string): Promise<void> {
  await rm(packageDir, { recursive: true, force: true })
  await mkdir(packageDir, { recursive: true })
  const source = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  await writeFile(join(packageDir, 'package.json'), `${JSON.stringify(agentManifest(source), null, 2)}\n`)
  for (const path of ['bin/adit.cjs', 'dist/inspector', 'docs', 'LICENSE', 'README.md', 'CHANGELOG.md'])
    await cp(join(root, path), join(packageDir, path), { recursive: true })
  await buildProgram(packageDir, 'agent-cli.ts')
}

import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { formatLicences } from './licences.ts'
import { agentManifest } from './manifest.ts'
import { writeTypes } from './types.ts'

const root = join(import.meta.dirname, '..', '..')
const LIBRARY = join(root, 'src', 'agent', 'index.ts')

/** Writes a program of `src`, the library with its types, and the licences of both below `dist` of a package. */
export async function buildProgram(program: string, packageDir: string): Promise<void> {
  const dist = join(packageDir, 'dist')
  for (const directory of ['lib', 'types']) await rm(join(dist, directory), { recursive: true, force: true })
  const packages = await bundle({
    entries: { cli: join(root, 'src', program), index: LIBRARY },
    directory: join(dist, 'lib'),
  })
  await writeFile(join(dist, 'third-party-licences.txt'), formatLicences(packages))
  await writeTypes(root, LIBRARY, join(dist, 'types'))
}

/** Writes the whole package `adit-agent`, ready for `npm pack`, into a directory. Needs the inspector page. */
export async function buildAgentPackage(packageDir: string): Promise<void> {
  await rm(packageDir, { recursive: true, force: true })
  await mkdir(packageDir, { recursive: true })
  const source = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  await writeFile(join(packageDir, 'package.json'), `${JSON.stringify(agentManifest(source), null, 2)}\n`)
  for (const path of ['bin/adit.cjs', 'dist/inspector', 'docs', 'LICENSE', 'README.md', 'CHANGELOG.md'])
    await cp(join(root, path), join(packageDir, path), { recursive: true })
  await buildProgram('agent-cli.ts', packageDir)
}

import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'rolldown'
import { bundle } from './bundle.ts'
import { leaveOutDescriptions } from './descriptions.ts'
import { formatLicences } from './licences.ts'
import { agentManifest } from './manifest.ts'
import { writeTypes } from './types.ts'

const root = join(import.meta.dirname, '..', '..')
/** What programs import, by the name of its output file: `adit-server` and `adit-server/api`. */
const LIBRARIES = {
  index: join(root, 'src', 'agent', 'index.ts'),
  api: join(root, 'src', 'api-client', 'index.ts'),
}
/** They are on the documentation site; the package is for the program. */
const PICTURES = join(root, 'docs', 'images')
const AGENT_FILES = ['bin/adit.cjs', 'dist/inspector', 'docs', 'LICENSE', 'README.md', 'CHANGELOG.md']

/** Writes what the package `adit-server` contains beside the pages into `dist` of the repository, where `npm pack` finds it. */
export async function buildServerPackage(): Promise<void> {
  await buildProgram('cli.ts', join(root, 'dist'))
}

/** Writes the whole package `adit-agent`, which has no server, into a directory. The pages must have been built. */
export async function buildAgentPackage(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { recursive: true })
  const source = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  await writeFile(join(directory, 'package.json'), `${JSON.stringify(agentManifest(source), null, 2)}\n`)
  for (const path of AGENT_FILES)
    await cp(join(root, path), join(directory, path), {
      recursive: true,
      filter: (file) => file !== PICTURES,
    })
  await buildProgram('agent-cli.ts', join(directory, 'dist'), [leaveOutDescriptions()])
}

/** The program and the libraries, their types, and the licences of the packages they contain. */
async function buildProgram(program: string, dist: string, plugins: readonly Plugin[] = []): Promise<void> {
  const [lib, types] = [join(dist, 'lib'), join(dist, 'types')]
  for (const directory of [lib, types]) await rm(directory, { recursive: true, force: true })
  const packages = await bundle({
    entries: { cli: join(root, 'src', program), ...LIBRARIES },
    directory: lib,
    plugins,
  })
  await writeFile(join(dist, 'third-party-licences.txt'), formatLicences(packages))
  await writeTypes(root, Object.values(LIBRARIES), types)
}
